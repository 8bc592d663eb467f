# SPDX-License-Identifier: BSD-3-Clause
#
# gen_fortran_test.awk: data/openshmem_api.txt -> a Fortran program that takes the address of every C name through
# module shmem, so that a name that is missing there does not compile and one that is missing in the library does not
# link; and asks for every generic name with `only`. It prints how many names it holds. After fortran_types.awk.

/^C / && !($2 in exception) { names[++count] = fortran_name($2) }
/^generic / && !($2 in generic_exception) { generics[++generic_names] = $2 }

END {
	if (failed || count < 1700 || generic_names < 70) {
		print "gen_fortran_test.awk: " count + 0 " names, " generic_names + 0 " generic ones" > "/dev/stderr"
		exit 1
	}
	print "! made by gen_fortran_test.awk; do not edit"
	# each part of its own scope: compilers are slow with thousands of names in one
	for (i = 1; i <= count; i++) {
		if (i % 200 == 1) {
			part++
			print "subroutine part_" part "(n)\n  use shmem\n  implicit none\n  integer, intent(inout) :: n"
			print "  type(c_funptr) :: addr"
		}
		print "  addr = c_funloc(" names[i] ")\n  if (c_associated(addr)) n = n + 1"
		if (i % 200 == 0 || i == count)
			print "end subroutine part_" part "\n"
	}
	text = "  use shmem, only: " generics[1]
	for (i = 2; i <= generic_names; i++)
		text = text ", " generics[i]
	print "subroutine generic_names()"
	put(text)
	print "  implicit none\nend subroutine generic_names\n"
	print "program names\n  implicit none\n  integer :: n = 0"
	for (i = 1; i <= part; i++)
		print "  call part_" i "(n)"
	print "  print '(i0,a)', n, ' names of Fortran lead into the library'"
	print "  if (n /= " count ") error stop 'some lead nowhere'"
	print "end program names"
}
