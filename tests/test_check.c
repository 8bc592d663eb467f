/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The check header itself, as C and as C++: a check that holds prints nothing and continues; one that does not prints
 * its line and ends the test. Each case runs in a child, whose status and output are compared.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int g_rank = -1;
#define CHECK_RANK g_rank
#define CHECK_END(file_arg, line_arg) _exit(3)
#define CHECK_ERROR_TEXT(code_arg) ((code_arg) == -5 ? "five" : "another")
#include "check.h"

static int g_wrong;

/* Runs fn in a child: it must end with the status, and print exactly the text after the line number, or nothing. */
static void ends(const char *name, void (*fn)(void), int status, const char *text)
{
	char said[2048] = "";
	size_t len = 0;
	int dst[2], got = -1;
	if (pipe(dst) != 0)
		exit(99);
	fflush(NULL);
	const pid_t pid = fork();
	if (pid == 0) {
		dup2(dst[1], 2);
		fn();
		_exit(0);
	}
	close(dst[1]);
	for (ssize_t n; len < sizeof said - 1 && (n = read(dst[0], said + len, sizeof said - 1 - len)) > 0;)
		len += (size_t)n;
	close(dst[0]);
	waitpid(pid, &got, 0);
	const char *line = strstr(said, __FILE__ ":");
	const char *words = line ? strchr(line + sizeof __FILE__, ' ') : NULL;
	const int ok = WIFEXITED(got) && WEXITSTATUS(got) == status &&
		       (*text ? words && !strcmp(words + 1, text) && atoi(line + sizeof __FILE__) > 0 : !*said);
	if (g_rank >= 0 && *text && strncmp(said, "[rank 4] ", 9) != 0)
		g_wrong++, printf("%s: no rank in: %s\n", name, said);
	if (!ok)
		g_wrong++, printf("%s: status %x, printed: %s", name, got, said);
}

static void all_hold(void)
{
	const char same[] = "same";
	CHECK(1 + 1 == 2);
	CHECK_EQ(-1, -1);
	CHECK_EQ((size_t)-1, (size_t)-1);
	CHECK_OK(0);
	CHECK_STR(same, "same");
	CHECK_MEM(same, "same", sizeof same);
}
static void not_true(void)
{
	CHECK(1 + 1 == 3);
}
static void not_equal(void)
{
	const int two = 2;
	CHECK_EQ(two, -3);
}
static void not_ok(void)
{
	CHECK_OK(1 - 6);
}
static void other_text(void)
{
	const char *const name = "this";
	CHECK_STR(name, "that");
}
static void no_text(void)
{
	const char *const name = NULL;
	CHECK_STR(name, "that");
}
static void other_bytes(void)
{
	CHECK_MEM("abcd", "abxd", 4);
}
static void in_a_branch(void)
{
	if (g_rank > 100)
		CHECK(0);
	else
		CHECK(!"percent %s sign");
}

int main(void)
{
	for (g_rank = -1; g_rank < 5; g_rank += 5) {
		ends("all_hold", all_hold, 0, "");
		ends("not_true", not_true, 3, "not true: 1 + 1 == 3\n");
		ends("not_equal", not_equal, 3, "two is 2 (0x2), expected -3 = -3 (0xfffffffffffffffd)\n");
		ends("not_ok", not_ok, 3, "1 - 6 returns -5 (five)\n");
		ends("other_text", other_text, 3, "name is \"this\", expected \"that\"\n");
		ends("no_text", no_text, 3, "name is \"(null)\", expected \"that\"\n");
		ends("other_bytes", other_bytes, 3, "byte 2 of 4 is 63, expected 78\n");
		ends("in_a_branch", in_a_branch, 3, "not true: !\"percent %s sign\"\n");
		check_doing = "here";
		ends("doing", not_true, 3, "not true: 1 + 1 == 3 (here)\n");
		check_doing = "";
	}
	printf("%d wrong\n", g_wrong);
	return g_wrong != 0;
}
