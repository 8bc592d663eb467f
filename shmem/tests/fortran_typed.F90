! SPDX-License-Identifier: BSD-3-Clause
! fortran_typed.F90: module shmem at work: the generic names for each type of Fortran (fortran_body.inc), then what has no
! type: static data, teams, locks, queries, addresses. Each PE checks its own results.
module fortran_check
  use, intrinsic :: iso_fortran_env, only: error_unit
  use shmem
  implicit none
  integer :: checks = 0, bad = 0
contains
  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what

    checks = checks + 1
    if (good) return
    bad = bad + 1
    write (error_unit, '(a,i0,2a)') 'PE ', shmem_my_pe(), ': wrong: ', what
  end subroutine check
end module fortran_check

#define IN_PG 1
#define IN_CMP 1
#define IN_BIT 1
#define IN_AMO 0
#define IN_WAIT 0
#define MODULE_NAME of_int8
#define T integer(c_int8_t)
#define V(x) int(x, c_int8_t)
#include "fortran_body.inc"
#undef MODULE_NAME
#undef T
#undef V
#define MODULE_NAME of_int16
#define T integer(c_int16_t)
#define V(x) int(x, c_int16_t)
#include "fortran_body.inc"
#undef MODULE_NAME
#undef T
#undef V
#undef IN_AMO
#undef IN_WAIT
#define IN_AMO 1
#define IN_WAIT 1
#define MODULE_NAME of_int32
#define T integer(c_int32_t)
#define V(x) int(x, c_int32_t)
#include "fortran_body.inc"
#undef MODULE_NAME
#undef T
#undef V
#define MODULE_NAME of_int64
#define T integer(c_int64_t)
#define V(x) int(x, c_int64_t)
#include "fortran_body.inc"
#undef MODULE_NAME
#undef T
#undef V
#undef IN_BIT
#undef IN_WAIT
#define IN_BIT 0
#define IN_WAIT 0
#define MODULE_NAME of_float
#define T real(c_float)
#define V(x) real(x, c_float)
#include "fortran_body.inc"
#undef MODULE_NAME
#undef T
#undef V
#define MODULE_NAME of_double
#define T real(c_double)
#define V(x) real(x, c_double)
#include "fortran_body.inc"
#undef MODULE_NAME
#undef T
#undef V
#undef IN_AMO
#define IN_AMO 0
#define MODULE_NAME of_longdouble
#define T real(c_long_double)
#define V(x) real(x, c_long_double)
#include "fortran_body.inc"
#undef MODULE_NAME
#undef T
#undef V
#undef IN_PG
#undef IN_CMP
#define IN_PG 0
#define IN_CMP 0
#define MODULE_NAME of_complexf
#define T complex(c_float_complex)
#define V(x) cmplx(x, -(x), c_float_complex)
#include "fortran_body.inc"
#undef MODULE_NAME
#undef T
#undef V
#define MODULE_NAME of_complexd
#define T complex(c_double_complex)
#define V(x) cmplx(x, -(x), c_double_complex)
#include "fortran_body.inc"

module untyped
  use fortran_check
  implicit none
  integer(c_int) :: module_word = 5
  integer(c_long) :: lock = 0, guarded = 0
contains
  subroutine static_data(me, n)
    integer, intent(in) :: me, n
    integer(c_int), save :: saved(3) = 0
    real(c_double) :: shared
    common /in_common/ shared

    shared = -1
    saved = 0
    module_word = 5
    call shmem_barrier_all()
    call shmem_p(shared, real(me, c_double), modulo(me + 1, n))
    call shmem_int_put(saved, [me, me + 1, me + 2], 3_c_size_t, modulo(me + 1, n))
    call shmem_p(module_word, me, modulo(me + 1, n))
    call shmem_barrier_all()
    call check(shared == modulo(me - 1, n), 'a common block is symmetric')
    call check(saved(3) == modulo(me - 1, n) + 2, 'a saved variable is symmetric')
    call check(module_word == modulo(me - 1, n), 'a variable of a module is symmetric')
  end subroutine static_data

  subroutine teams(me, n)
    integer, intent(in) :: me, n
    type(shmem_team_t) :: evens, rows, columns
    type(shmem_team_config_t) :: config
    integer(c_int), pointer :: word, answer
    type(shmem_ctx_t) :: ctx

    call shmemx_allocate(word)
    call shmemx_allocate(answer)
    word = me
    call check(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me, 'shmem_team_my_pe')
    config%num_contexts = 1
    call check(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, config, SHMEM_TEAM_NUM_CONTEXTS, evens) == 0, &
      'shmem_team_split_strided')
    call check((evens == SHMEM_TEAM_INVALID) .eqv. (modulo(me, 2) == 1), 'members of the new team')
    if (evens /= SHMEM_TEAM_INVALID) then
      call check(shmem_team_n_pes(evens) == (n + 1) / 2, 'shmem_team_n_pes')
      call check(shmem_team_translate_pe(evens, shmem_team_my_pe(evens), SHMEM_TEAM_WORLD) == me, 'translate_pe')
      config%num_contexts = 0
      call check(shmem_team_get_config(evens, SHMEM_TEAM_NUM_CONTEXTS, config) == 0, 'shmem_team_get_config')
      call check(config%num_contexts == 1, 'the config of the team')
      call check(shmem_max_reduce(evens, answer, word, 1) == 0, 'shmem_max_reduce in a team')
      call check(answer == 2 * ((n + 1) / 2) - 2, 'the largest in a team')
      call check(shmem_team_create_ctx(evens, 0_c_long, ctx) == 0, 'shmem_team_create_ctx')
      call shmem_ctx_destroy(ctx)
      call check(shmem_team_sync(evens) == 0, 'shmem_team_sync')
      call shmem_team_destroy(evens)
    end if
    call check(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, xaxis_mask=0_c_long, xaxis_team=rows, yaxis_mask=0_c_long, &
      yaxis_team=columns) == 0, 'shmem_team_split_2d without configs')
    call check(shmem_team_my_pe(rows) == modulo(me, 2), 'my place in a row')
    call shmem_team_destroy(rows)
    call shmem_team_destroy(columns)
    call shmemx_deallocate(word)
    call shmemx_deallocate(answer)
  end subroutine teams

  subroutine rest(me, n)
    integer, intent(in) :: me, n
    integer(c_int) :: major, minor, level, there, i
    character(kind=c_char) :: name(SHMEM_MAX_NAME_LEN)
    type(c_ptr) :: memory
    integer(c_int), pointer :: words(:)
    integer(c_int64_t), pointer :: sig
    integer(c_long), save, target :: psync(SHMEM_BARRIER_SYNC_SIZE) = SHMEM_SYNC_VALUE

    call shmem_info_get_version(major, minor)
    call check(major == SHMEM_MAJOR_VERSION .and. minor == SHMEM_MINOR_VERSION, 'shmem_info_get_version')
    call shmem_info_get_name(name)
    do i = 1, len(SHMEM_VENDOR_STRING)
      call check(name(i) == SHMEM_VENDOR_STRING(i:i), 'shmem_info_get_name')
    end do
    call shmem_query_thread(level)
    call check(level >= SHMEM_THREAD_FUNNELED, 'shmem_query_thread')
    call shmem_query_initialized(there)
    call check(there == 1, 'shmem_query_initialized')
    do i = 1, 10
      call shmem_set_lock(lock)
      call shmem_p(guarded, shmem_g(guarded, 0) + 1, 0)
      call shmem_quiet()
      call shmem_clear_lock(lock)
    end do
    call shmem_barrier_all()
    if (me == 0) call check(guarded == 10 * n, 'shmem_set_lock')

    ! by addresses: memory of malloc, calls of sizes and bytes
    memory = shmem_malloc(4 * 4_c_size_t)
    call check(c_associated(memory), 'shmem_malloc')
    call check(shmem_addr_accessible(memory, modulo(me + 1, n)) == 1, 'shmem_addr_accessible')
    call c_f_pointer(memory, words, [4])
    words = me
    call shmem_barrier_all()
    call shmem_getmem(c_loc(words(2)), c_loc(words(1)), 4_c_size_t, modulo(me + 1, n))
    call shmem_put32(c_loc(words(3)), c_loc(words(1)), 1_c_size_t, modulo(me + 1, n))
    call shmem_barrier(0, 0, n, psync)
    call check(all(words(1:3) == [me, modulo(me + 1, n), modulo(me - 1, n)]), 'shmem_getmem, shmem_put32')
    call shmem_free(memory)
    call shmemx_allocate(sig)
    sig = 0
    call shmem_barrier_all()
    call shmem_signal_add(sig, 1_c_int64_t, 0)
    call shmem_signal_add(SHMEM_CTX_DEFAULT, sig, 1_c_int64_t, 0)
    call shmem_barrier_all()
    if (me == 0) call check(shmem_signal_fetch(sig) == 2 * n, 'shmem_signal_add')
    call shmemx_deallocate(sig)
    call check(my_pe() == me, 'my_pe, the name before 1.2')
    call check(num_pes() == n, 'num_pes, the name before 1.2')
  end subroutine rest
end module untyped

program fortran_typed
  use fortran_check
  use of_int8, only: int8 => all_of
  use of_int16, only: int16 => all_of
  use of_int32, only: int32 => all_of
  use of_int64, only: int64 => all_of
  use of_float, only: float => all_of
  use of_double, only: double => all_of
  use of_longdouble, only: longdouble => all_of
  use of_complexf, only: complexf => all_of
  use of_complexd, only: complexd => all_of
  use untyped
  implicit none
  integer :: me, n
  integer(c_int) :: provided
  integer(c_int), pointer, contiguous :: gaps(:, :)
  character(len=16) :: what

  call check(shmem_init_thread(SHMEM_THREAD_FUNNELED, provided) == 0, 'shmem_init_thread')
  me = shmem_my_pe()
  n = shmem_n_pes()
  call get_command_argument(1, what)
  if (what == 'gaps') then ! a row of an array has gaps: the call must say so
    call shmemx_allocate(gaps, [4, 4])
    call shmem_put(gaps(2, :), [1, 2, 3, 4], 4, me)
    stop
  end if
  call int8(me, n)
  call int16(me, n)
  call int32(me, n)
  call int64(me, n)
  call float(me, n)
  call double(me, n)
  call longdouble(me, n)
  call complexf(me, n)
  call complexd(me, n)
  call static_data(me, n)
  call teams(me, n)
  call rest(me, n)
  if (bad > 0) then
    call shmem_global_exit(1_c_int)
  end if
  if (me == 0) print '(i0,a)', checks, ' checks passed'
  call shmem_finalize()
end program fortran_typed
