// SPDX-License-Identifier: Apache-2.0
// A program in Rust with plain declarations of what it calls. It exits with 0 when every result is
// right.
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr::{null, null_mut};

#[repr(C)]
struct IterOptions {
    struct_size: usize,
    seed: i64,
    epoch: i64,
    threads: i32,
    block_rows: i32,
    errors: *const c_char,
    max_record_bytes: i64,
}

#[link(name = "levada")]
extern "C" {
    fn levada_version() -> *const c_char;
    fn levada_error_create() -> *mut c_void;
    fn levada_error_destroy(err: *mut *mut c_void);
    fn levada_error_message(err: *const c_void) -> *const c_char;
    fn levada_error_record(err: *const c_void) -> i64;
    fn levada_error_code(err: *const c_void) -> c_int;
    fn levada_iter_options_init(options: *mut IterOptions, size: usize);
    fn levada_dataset_parse(env: *mut c_void, text: *const c_char, out: *mut *mut c_void, err: *mut c_void) -> c_int;
    fn levada_dataset_unref(dataset: *mut *mut c_void);
    fn levada_iter_open(dataset: *const c_void, options: *const IterOptions, out: *mut *mut c_void, err: *mut c_void) -> c_int;
    fn levada_iter_next(it: *mut c_void, out: *mut *mut c_void, err: *mut c_void) -> c_int;
    fn levada_iter_close(it: *mut *mut c_void);
    fn levada_block_rows(block: *const c_void) -> i64;
    fn levada_block_column(block: *const c_void, name: *const c_char) -> *const c_void;
    fn levada_column_i64(column: *const c_void) -> *const i64;
    fn levada_block_unref(block: *mut *mut c_void);
}

const OK: c_int = 0;
const END: c_int = 1;
const INVALID_ARGUMENT: c_int = -3;

fn message(err: *const c_void) -> String {
    unsafe { CStr::from_ptr(levada_error_message(err)) }.to_string_lossy().into_owned()
}

fn main() {
    unsafe {
        let mut err = levada_error_create();
        assert!(!err.is_null() && levada_error_record(err) == -1);

        let mut dataset = null_mut();
        let text = CString::new("range:1000 | skip:10").unwrap();
        let st = levada_dataset_parse(null_mut(), text.as_ptr(), &mut dataset, err);
        assert_eq!(st, OK, "{}", message(err));

        let mut options: IterOptions = std::mem::zeroed();
        let mut it = null_mut();
        let st = levada_iter_open(dataset, &options, &mut it, err);
        assert_eq!((st, levada_error_code(err)), (INVALID_ARGUMENT, INVALID_ARGUMENT));
        assert!(message(err).contains("struct_size=0 of levada_iter_options"));

        levada_iter_options_init(&mut options, std::mem::size_of::<IterOptions>());
        assert!(options.seed == -1 && options.max_record_bytes == 0);
        options.threads = 2;
        let st = levada_iter_open(dataset, &options, &mut it, err);
        assert_eq!(st, OK, "{}", message(err));

        let name = CString::new("value").unwrap();
        let (mut sum, mut rows) = (0i64, 0i64);
        loop {
            let mut block = null_mut();
            let st = levada_iter_next(it, &mut block, err);
            if st == END {
                break;
            }
            assert_eq!(st, OK, "{}", message(err));
            let n = levada_block_rows(block);
            let values = levada_column_i64(levada_block_column(block, name.as_ptr()));
            assert!(values != null());
            sum += std::slice::from_raw_parts(values, n as usize).iter().sum::<i64>();
            rows += n;
            levada_block_unref(&mut block);
        }
        assert_eq!((rows, sum), (990, 999 * 500 - 45));
        levada_iter_close(&mut it);
        levada_dataset_unref(&mut dataset);
        levada_error_destroy(&mut err);
        println!("Rust ok, levada {}", CStr::from_ptr(levada_version()).to_str().unwrap());
    }
}
