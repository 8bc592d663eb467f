# SPDX-License-Identifier: BSD-3-Clause
# documents.sh: checks that README.md and the guides named below are right. Sourced after harness.sh:
#
#	run_documents PLACE PRELUDE
#
# PLACE: build or installed; PRELUDE: shell commands that set up a reader's shell. The commands run in order, as
# printed, in one bash per document, in a scratch folder that looks like the top of a clone: it has a copy of examples/
# and, if PLACE is build, a link build to the build tree. documents.awk describes the marks.

documents='README.md docs/TUTORIAL.md docs/GUIDE.md docs/PYTHON.md'

run_documents() {
	_place=$1 _prelude=$2
	for _document in $documents; do
		_name="$_document ($_place)"
		_scratch=$work/scratch-$_place-${_document##*/}
		mkdir -p "$_scratch"
		cp -r "$src/examples" "$_scratch/"
		chmod -R u+w "$_scratch"
		[ "$_place" != build ] || ln -s "$top" "$_scratch/build"
		document_program "$_scratch"
		chmod -R a+rwX "$_scratch"
		{
			cat <<-'TEXT'
			document_done() {
				case "$1 $3" in
				"6 instr-count "*) document_skip "$2" "this kernel lets nobody trace"; return ;;
				esac
				[ "$1" = 0 ] || { printf 'FAILED %s: status %s of: %s\n' "$2" "$1" "$3"; exit 1; }
				printf 'done %s: %s\n' "$2" "$3"
			}
			document_skip() { printf 'left out %s: %s\n' "$1" "$2"; }
			document_output() { # … stands for any text
				document_line=$(printf '%s\n' "$2" | sed 's/[][\.*^$]/\\&/g; s/…/.*/g')
				grep -a -q -x -e "$document_line" "$document_log" ||
					{ printf 'FAILED %s: nothing printed: %s\n' "$1" "$2"; exit 1; }
			}
			document_needs() {
				document_place=$1
				shift
				for document_tool; do
					command -v "$document_tool" >/dev/null ||
						{ document_skip "$document_place" "no $document_tool here"; return 1; }
				done
			}
			set -o pipefail
			TEXT
			say "$_prelude"
			"$(setting AWK)" -v place="$_place" -v document="$_document" -f "$src/tests/documents.awk" \
				"$src/$_document" 2>"$work/marks" ||
				say "cat '$work/marks'; echo 'FAILED: its marks'; exit 1"
			say 'echo "the end of the document"'
		} >"$_scratch.sh"
		(cd "$_scratch" && $document_user env -i PATH="$PATH" HOME="$_scratch" IPATH_NO_BACKTRACE=1 \
			document_log="$_scratch.log" CCACHE_DISABLE=1 \
			OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
			OMPI_MCA_rmaps_base_oversubscribe=1 TMPDIR="$_scratch" \
			FI_PGAS_NET=off ${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} \
			timeout -s KILL $((LIMIT * SLOW)) bash "$_scratch.sh") >"$_scratch.log" 2>&1 </dev/null
		_status=$?
		cp "$_scratch.log" "$work/out"
		[ $_status = 0 ] && [ "$(tail -n 1 "$work/out")" = "the end of the document" ] &&
			grep -a -q '^done ' "$work/out"
		check "$_name: $(grep -a -c '^done ' "$work/out") commands, as printed"
		grep -a '^left out ' "$work/out" | sort -u | while read -r _line; do note "$_name: $_line"; done
	done
}

# makes the ./program that the page runs: an Open MPI program, whose source the page does not show
document_program() {
	command -v mpicc >/dev/null || return 0
	printf '#include <mpi.h>\nint main(void)\n{\n\tMPI_Init(0, 0);\n\treturn MPI_Finalize();\n}\n' >"$1/program.c"
	mpicc "$1/program.c" -o "$1/program" >/dev/null 2>&1 || rm -f "$1/program"
}
document_user= # who reads: a prefix of the command, such as setpriv
