/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of registered memory that are shorter than eight bytes, because the hints asked for that: mr_key_size. */
#include "common.h"

static int register_page(struct node *n, void *page, uint64_t key, struct fid_mr **mr)
{
	return fi_mr_reg(n->domain, page, 4096, FI_REMOTE_WRITE, 0, key, 0, mr, NULL);
}

/* Keys of the application's choice. */
static void short_keys(int rank, void *arg)
{
	static char page[4096];
	const size_t bytes = *(const size_t *)arg;
	const struct node_opts o = {.key_size = bytes};
	const uint64_t most = (UINT64_C(1) << 8 * bytes) - 1;
	struct node n;
	struct fid_mr *mr, *none = NULL;
	uint8_t raw_key[8];
	uint64_t base, v = 5;
	size_t len = sizeof raw_key;
	(void)rank;
	node_open(&n, &o);
	node_connect(&n);
	CHECK_EQ(n.info->domain_attr->mr_key_size, bytes);
	CHECK_EQ(register_page(&n, page, most + 1, &none), -FI_EKEYREJECTED);
	CHECK_EQ(register_page(&n, page, UINT64_MAX, &none), -FI_EKEYREJECTED);
	CHECK(none == NULL);
	CHECK_OK(register_page(&n, page, most, &mr));
	CHECK_EQ(fi_mr_key(mr), most);
	CHECK_OK(fi_mr_raw_attr(mr, &base, raw_key, &len, 0));
	CHECK_EQ(len, bytes);
	for (size_t i = 0; i < bytes; i++)
		CHECK_EQ(raw_key[i], 255);
	CHECK_OK(RETRY(&n, fi_inject_write(n.ep, &v, sizeof v, n.self, 0, most)));
	for (uint64_t seen = 0; seen != v; node_poll(&n))
		memcpy(&seen, page, sizeof seen);
	CHECK_OK(fi_close(&mr->fid));
	node_close(&n);
}

/* Keys of the provider's choice: all of them, and none twice at the same time. */
static void few_keys(int rank, void *arg)
{
	enum { KEYS = 255, FREED = 77 };
	static char page[4096];
	const struct node_opts o = {.mr_mode = FI_MR_PROV_KEY, .key_size = 1};
	struct node n;
	struct fid_mr *mr[KEYS], *none = NULL;
	bool used[KEYS + 1] = {false};
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	CHECK_EQ(n.info->domain_attr->mr_key_size, 1);
	for (int i = 0; i < KEYS; i++) {
		CHECK_OK(register_page(&n, page, UINT64_MAX, &mr[i])); /* the wish does not count */
		const uint64_t key = fi_mr_key(mr[i]);
		CHECK(key >= 1 && key <= KEYS && !used[key]);
		used[key] = true;
	}
	CHECK_EQ(register_page(&n, page, 0, &none), -FI_ENOSPC);
	CHECK(none == NULL);
	const uint64_t freed = fi_mr_key(mr[FREED]);
	CHECK_OK(fi_close(&mr[FREED]->fid));
	CHECK_OK(register_page(&n, page, 0, &mr[FREED]));
	CHECK_EQ(fi_mr_key(mr[FREED]), freed);
	for (int i = 0; i < KEYS; i++)
		CHECK_OK(fi_close(&mr[i]->fid));
	/* a key that was given back is used again as late as possible */
	CHECK_OK(register_page(&n, page, 0, &mr[0]));
	const uint64_t first = fi_mr_key(mr[0]);
	CHECK_OK(fi_close(&mr[0]->fid));
	CHECK_OK(register_page(&n, page, 0, &mr[0]));
	CHECK(fi_mr_key(mr[0]) != first);
	CHECK_OK(fi_close(&mr[0]->fid));
	node_close(&n);
}

static void test_keys_of_the_application_have_the_size_asked_for(void **state)
{
	(void)state;
	for (size_t bytes = 1; bytes < 8; bytes++)
		team_run(1, short_keys, &bytes);
}

static void test_keys_of_the_provider_have_the_size_asked_for(void **state)
{
	(void)state;
	team_run(1, few_keys, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_of_the_application_have_the_size_asked_for),
		cmocka_unit_test(test_keys_of_the_provider_have_the_size_asked_for),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
