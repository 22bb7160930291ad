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

#[repr(C)]
struct Error {
    code: c_int,
    stage: [c_char; 60],
    file: [c_char; 512],
    key: [c_char; 64],
    record: i64,
    offset: i64,
    message: [c_char; 512],
}

#[link(name = "levada")]
extern "C" {
    fn levada_version() -> *const c_char;
    fn levada_error_clear(err: *mut Error);
    fn levada_iter_options_init(options: *mut IterOptions, size: usize);
    fn levada_dataset_parse(env: *mut c_void, text: *const c_char, out: *mut *mut c_void, err: *mut Error) -> c_int;
    fn levada_dataset_unref(dataset: *mut *mut c_void);
    fn levada_iter_open(dataset: *const c_void, options: *const IterOptions, out: *mut *mut c_void, err: *mut Error) -> c_int;
    fn levada_iter_next(it: *mut c_void, out: *mut *mut c_void, err: *mut Error) -> c_int;
    fn levada_iter_close(it: *mut *mut c_void);
    fn levada_block_rows(block: *const c_void) -> i64;
    fn levada_block_column(block: *const c_void, name: *const c_char) -> *const c_void;
    fn levada_column_i64(column: *const c_void) -> *const i64;
    fn levada_block_unref(block: *mut *mut c_void);
}

const OK: c_int = 0;
const END: c_int = 1;
const INVALID_ARGUMENT: c_int = -3;

fn message(err: &Error) -> String {
    unsafe { CStr::from_ptr(err.message.as_ptr()) }.to_string_lossy().into_owned()
}

fn main() {
    unsafe {
        let mut err: Error = std::mem::zeroed();
        levada_error_clear(&mut err);
        assert_eq!(err.record, -1);

        let mut dataset = null_mut();
        let text = CString::new("range:1000 | skip:10").unwrap();
        let st = levada_dataset_parse(null_mut(), text.as_ptr(), &mut dataset, &mut err);
        assert_eq!(st, OK, "{}", message(&err));

        let mut options: IterOptions = std::mem::zeroed();
        let mut it = null_mut();
        let st = levada_iter_open(dataset, &options, &mut it, &mut err);
        assert_eq!(st, INVALID_ARGUMENT);
        assert!(message(&err).contains("struct_size=0 of levada_iter_options"));

        levada_iter_options_init(&mut options, std::mem::size_of::<IterOptions>());
        assert!(options.seed == -1 && options.max_record_bytes == 0);
        options.threads = 2;
        let st = levada_iter_open(dataset, &options, &mut it, &mut err);
        assert_eq!(st, OK, "{}", message(&err));

        let name = CString::new("value").unwrap();
        let (mut sum, mut rows) = (0i64, 0i64);
        loop {
            let mut block = null_mut();
            let st = levada_iter_next(it, &mut block, &mut err);
            if st == END {
                break;
            }
            assert_eq!(st, OK, "{}", message(&err));
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
        println!("Rust ok, levada {}", CStr::from_ptr(levada_version()).to_str().unwrap());
    }
}
