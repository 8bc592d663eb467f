#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Test: for every comment "pairs with ACCESS in FUNCTION()" in C and C++, the tree has a function of that name that
# contains that access (load_acquire, store_release, claim, ...; check_pairs.awk has the list), and for "pairs with
# FUNCTION()" one that contains any. These comments are the proof of the lock-free code, so a wrong one is worse than no
# comment.
here=$(cd "$(dirname "$0")" && pwd) || exit 99
top=$(dirname "$here")
LC_ALL=C
export LC_ALL
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/pairs.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT

# In the folder $1: prints what is wrong in the files whose names are on stdin.
look() {
	# shellcheck disable=SC2046  # names without blanks, one argument each
	(cd "$1" && set -- $(cat) && awk -f "$here/check_pairs.awk" pass=1 "$@" pass=2 "$@")
}

# $1: the expected complaint, or "nothing"; $2: a comment, which the file below contains as our sources would.
try() {
	cat >"$work/a.cpp" <<-END
	/* A comment on { braces }, "quotes" and pgas_load_acquire(). */
	#define JOIN(a) \\
		pgas_store_release(a)
	namespace pgas {
	MADE_BY(macro)
	struct alignas(64) table {
		void close(int x) noexcept { pgas_store_release(&at, '{'); }
		int at{0}; // pgas_claim(
	};
	int table::find(int key)
	{
		return call([&] { return pgas_load_relaxed(&key); }); // pgas_load_acquire(
	}
	[[gnu::cold]] static int drain(ring *r)
	{
		if (r) {
			$2
			return pgas_load_acquire(&r->state);
		}
		const char *s = "} pgas_add_release(";
		return s ? 0 : __atomic_compare_exchange_n(p, e, v, 0,
			__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	}
	void plain() { call(); }
	void theirs() { std::atomic_ref<int>(x).store(1, std::memory_order_release); }
	}
	END
	said=$(echo a.cpp | look "$work")
	tried=$((tried + 1))
	case $1:$said in
	"nothing:pairs: 1") return ;;
	nothing:*) ;;
	*) case $said in *"$1"*) return ;; esac ;;
	esac
	echo "FAIL: '$2' should show '$1' and shows '$said'"
	failed=1
}

# The checker must find bad comments, or its result means nothing.
self_test() {
	tried=0
	try nothing '// pairs with load_acquire in drain()'
	try nothing '// pairs with load_acquire in drain(): reason; more'
	try nothing '/* pairs with store_release in table::close() and JOIN() */'
	try nothing '// pairs with store_release of READY in close()'
	try nothing '// pairs with the acquire in drain(), by whom'
	try nothing '// words. Pairs with the
			// claim in drain(). More words.'
	try nothing '// pairs with find(), which looks'
	try nothing 'x = 1; // pairs with store_release in theirs()'
	try 'a.cpp:17: there is no function drains()' '// pairs with load_acquire in drains()'
	try 'there is no function table::drain()' '// pairs with load_acquire in table::drain()'
	try 'drain() holds no store_release' '// pairs with store_release in drain()'
	try 'drain() holds no add_release' '// pairs with add_release in drain()'
	try 'find() holds no load_acquire' '// pairs with load_acquire in table::find()'
	try 'table::close() holds no claim' '// pairs with claim in table::close()'
	try 'plain() holds no access' '// pairs with plain()'
	try 'plain() holds no load' '// pairs with load in drain() and plain()'
	try 'drain() holds no told' '// pairs with told in drain()'
	try 'names no function' '// pairs with the load above'
	[ $failed -ne 0 ] || echo "ok: the checker sees what is wrong ($tried tries)"
}

list_files() {
	if [ -e "$top/.git" ] && git -C "$top" ls-files >"$work/tracked" 2>/dev/null; then
		(cd "$top" && while read -r name; do [ ! -f "$name" ] || echo "$name"; done) <"$work/tracked"
	else
		(cd "$top" && find . \( -name .git -o -name 'build*' -o -name '_*' \) -prune -o -type f -print) |
			sed 's|^\./||'
	fi | grep -E '\.(c|h|cpp|hpp)$'
}

self_test
list_files | look "$top" >"$work/found"
if grep -v '^pairs: ' "$work/found"; then
	echo "FAIL: comments that name what is not there"
	failed=1
fi
number=$(sed -n 's/^pairs: //p' "$work/found")
if [ "${number:-0}" -ge 40 ]; then
	echo "ok: $number comments looked at"
else
	echo "FAIL: only ${number:-no} comments found"
	failed=1
fi
exit $failed
