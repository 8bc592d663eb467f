! SPDX-License-Identifier: BSD-3-Clause
! heat.f90: Fortran by the module shmem. A plate is cut into strips of columns, one strip per PE; after each step a PE puts
! its outermost columns into its neighbours' halo, with a signal that counts the steps, and waits for theirs. No barrier
! in the loop. At the end each PE computes the whole plate by itself and compares.
!
!     oshfort -O2 heat.f90 -o heat && oshrun -n 4 ./heat
program heat
  use shmem
  implicit none
  integer, parameter :: rows = 64, width = 16, steps = 200
  real(c_double), pointer, contiguous :: plate(:, :, :) ! symmetric: two plates, old and new, with a halo column each side
  integer(c_int64_t), pointer, contiguous :: arrived(:) ! by the left and by the right neighbour: steps so far
  real(c_double), pointer :: mine, total
  real(c_double), allocatable :: whole(:, :), next(:, :)
  integer :: me, n, step, old, new, i
  integer(c_int64_t) :: seen

  call shmem_init()
  me = shmem_my_pe()
  n = shmem_n_pes()
  call shmemx_allocate(plate, [rows, width + 2, 2])
  call shmemx_allocate(arrived, [2])
  call shmemx_allocate(mine)
  call shmemx_allocate(total)
  if (.not. associated(total)) then
    print '(a)', 'heat: the symmetric heap is too small: set SHMEM_SYMMETRIC_SIZE'
    call shmem_global_exit(1_c_int)
  end if
  plate = 0
  plate(1, :, :) = 100 ! the upper edge is hot
  arrived = 0
  call shmem_barrier_all()

  old = 1
  do step = 1, steps
    new = 3 - old
    call relax(plate(:, :, old), plate(:, :, new), me == 0, me == n - 1)
    if (me > 0) call shmem_put_signal(plate(:, width + 2, new), plate(:, 2, new), rows, arrived(2), &
      int(step, c_int64_t), SHMEM_SIGNAL_OP_SET, me - 1)
    if (me < n - 1) call shmem_put_signal(plate(:, 1, new), plate(:, width + 1, new), rows, arrived(1), &
      int(step, c_int64_t), SHMEM_SIGNAL_OP_SET, me + 1)
    if (me > 0) seen = shmem_signal_wait_until(arrived(1), SHMEM_CMP_GE, int(step, c_int64_t))
    if (me < n - 1) seen = shmem_signal_wait_until(arrived(2), SHMEM_CMP_GE, int(step, c_int64_t))
    old = new
  end do

  mine = sum(plate(:, 2:width + 1, old))
  if (shmem_sum_reduce(SHMEM_TEAM_WORLD, total, mine, 1) /= 0) call shmem_global_exit(1_c_int)

  allocate (whole(rows, n * width + 2), next(rows, n * width + 2))
  whole = 0
  whole(1, :) = 100
  next = whole
  do i = 1, steps
    call relax(whole, next, .true., .true.)
    whole = next
  end do
  if (any(abs(plate(:, 2:width + 1, old) - whole(:, me * width + 2:(me + 1) * width + 1)) > 1e-9_c_double)) then
    print '(a,i0,a)', 'heat: PE ', me, ' has another result than one PE alone'
    call shmem_global_exit(1_c_int)
  end if
  if (me == 0) print '(a,i0,a,f0.3)', 'heat: ', n, ' PEs agree; mean temperature ', total / (rows * width * n)
  call shmemx_deallocate(total)
  call shmemx_deallocate(mine)
  call shmemx_deallocate(arrived)
  call shmemx_deallocate(plate)
  call shmem_finalize()

contains

  ! one step; the columns at the ends of the plate stay as they are
  subroutine relax(from, to, first, last)
    real(c_double), intent(in) :: from(:, :)
    real(c_double), intent(inout) :: to(:, :)
    logical, intent(in) :: first, last
    integer :: j, low, high

    low = merge(3, 2, first)
    high = size(from, 2) - merge(2, 1, last)
    do j = low, high
      to(2:rows - 1, j) = (from(1:rows - 2, j) + from(3:rows, j) + from(2:rows - 1, j - 1) + from(2:rows - 1, j + 1)) / 4
    end do
  end subroutine relax
end program heat
