# SPDX-License-Identifier: BSD-3-Clause
# prov_again.sh: runs tests of the provider again; for run_loop.sh and run_net.sh, which choose the wire.
#	again WHERE LEAST NAME...	runs each test_prov_NAME; ends with status 1 at the first that fails, or if
#					fewer than LEAST cases passed, which means that they did not run
# programs: the folder that has them, if it is not that of the wrappers of libtool
cd "${abs_top_builddir:-.}" || exit 99
_log=$(mktemp) || exit 99
trap 'rm -f "$_log"' EXIT
trap 'exit 99' HUP INT TERM

again() {
	_where=$1 _least=$2 _cases=0 _left_out=0
	shift 2
	for _p in "$@"; do
		_began=$(date +%s)
		if ! "${programs:-prov/pgas/tests}/test_prov_$_p" >"$_log" 2>&1; then
			cat "$_log"
			echo "FAIL: test_prov_$_p over $_where"
			exit 1
		fi
		_passed=$(grep -c '^\[       OK \]' "$_log")
		_cases=$((_cases + _passed))
		_left_out=$((_left_out + $(grep '^\[  SKIPPED \] test' "$_log" | sort -u | wc -l)))
		echo "test_prov_$_p: $_passed cases, $(($(date +%s) - _began)) s"
	done
	echo "$_cases cases passed over $_where; $_left_out count on stores and were left out"
	[ "$_cases" -ge "$_least" ] || exit 1
}
