//! The memory of an engine, which can be put back to how it was: the only `unsafe` code of the
//! workspace ([ADR 15](../../../../docs/adr/0015-an-engine-is-put-back.md)).
//!
//! Everything the engine has allocated until it is [kept](Memory::keep) lies in one room, and is
//! copied. What it allocates later are blocks of the system's allocator, in a list, as they would be without
//! us: the program's own allocator would keep what a large script has used.
//! [`Memory::restore`] frees the blocks and writes the copy back. Small objects are no concern of
//! this: the engine carves them out of blocks of 4 KB by itself.
#![expect(unsafe_code, reason = "the engine's memory is put back under it")]

use std::{
    alloc::{GlobalAlloc as _, Layout, System},
    cell::{Cell, OnceCell},
    mem::MaybeUninit,
    ptr::{self, NonNull},
    rc::Rc,
};

use rquickjs::allocator::Allocator;

/// Room for an engine with the API. What is not used takes no memory.
const ROOM_BYTES: usize = 4 << 20;

/// The alignment of blocks, and of their sizes.
const ALIGN_BYTES: usize = 16;

const HEADER_BYTES: usize = size_of::<Header>();

/// Lies before each block.
#[repr(C, align(16))]
struct Header {
    /// The neighbours in the list of later blocks; null in the room.
    previous: *mut Header,
    next: *mut Header,
    /// The bytes that the engine may use.
    size: usize,
}

/// The memory of one engine.
pub(crate) struct Memory {
    /// `ROOM_BYTES` bytes, ours until we are dropped.
    room: NonNull<u8>,
    /// The bytes of the room that are given out, from its beginning.
    used: Cell<usize>,
    /// The used part of the room as it was when it was kept.
    copy: OnceCell<Box<[MaybeUninit<u8>]>>,
    /// The first of the blocks allocated since then.
    later: Cell<*mut Header>,
}

impl Memory {
    /// An empty one; `None` if there is no memory for it.
    pub(crate) fn new() -> Option<Rc<Memory>> {
        // SAFETY: the layout has a size.
        let room = unsafe { System.alloc_zeroed(room_layout()?) };
        Some(Rc::new(Memory {
            room: NonNull::new(room)?,
            used: Cell::new(0),
            copy: OnceCell::new(),
            later: Cell::new(ptr::null_mut()),
        }))
    }

    /// What an engine allocates with.
    pub(crate) fn source(self: &Rc<Memory>) -> impl Allocator + use<> {
        Source(Rc::clone(self))
    }

    /// Keeps what the memory holds now. Only the first call counts.
    pub(crate) fn keep(&self) {
        self.copy.get_or_init(|| {
            // SAFETY: the used part belongs to the room, which is initialized, and nobody writes to it
            // meanwhile: an engine and its memory stay in one thread.
            let used = unsafe {
                let begin = self.room.as_ptr().cast::<MaybeUninit<u8>>();
                std::slice::from_raw_parts(begin, self.used.get())
            };
            used.into()
        });
    }

    /// Puts everything back to how it was when it was [kept](Self::keep).
    ///
    /// # Safety
    ///
    /// 1. No code of the engine is running, so none of its frames remembers an address.
    /// 2. Nothing outside of this memory refers to what the engine has allocated since, and nothing
    ///    holds one reference more or less to what it had allocated before: every `Persistent`
    ///    saved or cloned since is dropped, and every one that existed still exists.
    /// 3. What this memory refers to outside of it still exists: the engine has called no finalizer
    ///    of a Rust function that existed when it was kept.
    pub(crate) unsafe fn restore(&self) {
        let Some(copy) = self.copy.get() else { return };
        // SAFETY: the copy was made of the beginning of the room. By 1 and 2 nobody uses what is there or in
        // later blocks.
        unsafe {
            self.free_later();
            let begin = self.room.as_ptr().cast::<MaybeUninit<u8>>();
            ptr::copy_nonoverlapping(copy.as_ptr(), begin, copy.len());
        }
    }

    /// Frees all later blocks, which nobody uses any more.
    unsafe fn free_later(&self) {
        let mut block = self.later.replace(ptr::null_mut());
        while !block.is_null() {
            // SAFETY: the list holds exactly the later blocks that are not freed, each once.
            unsafe {
                let Header { next, size, .. } = block.read();
                if let Some(layout) = layout(size) {
                    System.dealloc(block.cast(), layout);
                }
                block = next;
            }
        }
    }

    fn is_in_room(&self, block: *mut Header) -> bool {
        block.addr().wrapping_sub(self.room.addr().get()) < ROOM_BYTES
    }

    /// Takes a block out of the room, or null.
    fn take_room(&self, size: usize) -> *mut Header {
        let (used, Some(layout)) = (self.used.get(), layout(size)) else { return ptr::null_mut() };
        if layout.size() > ROOM_BYTES - used {
            return ptr::null_mut();
        }
        self.used.set(used + layout.size());
        // SAFETY: the block fits into the room, and the room is aligned like a header, as are the sizes.
        unsafe {
            let block = as_header(self.room.as_ptr().add(used));
            let (previous, next) = (ptr::null_mut(), ptr::null_mut());
            block.write(Header { previous, next, size: layout.size() - HEADER_BYTES });
            block
        }
    }

    /// Adds a later block to the list, which is ours and in no list.
    unsafe fn link(&self, block: *mut Header, layout: Layout) {
        let next = self.later.replace(block);
        // SAFETY: the block is ours, and so is the first one of the list.
        unsafe {
            let size = layout.size() - HEADER_BYTES;
            block.write(Header { previous: ptr::null_mut(), next, size });
            if !next.is_null() {
                (*next).previous = block;
            }
        }
    }

    /// Removes a later block from the list, which it is in.
    unsafe fn unlink(&self, block: *mut Header) {
        // SAFETY: its neighbours are in the list, too.
        unsafe {
            let Header { previous, next, .. } = block.read();
            if previous.is_null() {
                self.later.set(next);
            } else {
                (*previous).next = next;
            }
            if !next.is_null() {
                (*next).previous = previous;
            }
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the engine is gone, since its allocator owns us. The room was allocated with this layout.
        unsafe {
            self.free_later();
            if let Some(layout) = room_layout() {
                System.dealloc(self.room.as_ptr(), layout);
            }
        }
    }
}

/// What the engine calls.
struct Source(Rc<Memory>);

// SAFETY: blocks are as large as asked for or larger, aligned to 16 bytes, and no two of them overlap: in
// the room `used` only grows until it is kept, and nothing is taken out of it afterwards. The size in
// front of a block is the one it was made with.
unsafe impl Allocator for Source {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        let memory = &*self.0;
        if memory.copy.get().is_none() {
            return content(memory.take_room(size));
        }
        let Some(layout) = layout(size) else { return ptr::null_mut() };
        // SAFETY: the layout has a size, and the block is new.
        unsafe {
            let block = as_header(System.alloc(layout));
            if !block.is_null() {
                memory.link(block, layout);
            }
            content(block)
        }
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let Some(size) = count.checked_mul(size) else { return ptr::null_mut() };
        let begin = self.alloc(size);
        if !begin.is_null() {
            // SAFETY: the block has at least so many bytes.
            unsafe { begin.write_bytes(0, size) };
        }
        begin
    }

    unsafe fn dealloc(&mut self, begin: *mut u8) {
        // SAFETY: the caller got it from us and does not use it any more.
        unsafe {
            let block = header(begin);
            // The room stays as it is until it is put back, or dropped.
            if self.0.is_in_room(block) {
                return;
            }
            self.0.unlink(block);
            if let Some(layout) = layout((*block).size) {
                System.dealloc(block.cast(), layout);
            }
        }
    }

    unsafe fn realloc(&mut self, begin: *mut u8, size: usize) -> *mut u8 {
        if begin.is_null() {
            return self.alloc(size);
        }
        // SAFETY: the caller got it from us, and uses only what is returned.
        unsafe {
            let block = header(begin);
            let size_before = (*block).size;
            if self.0.is_in_room(block) {
                let moved = self.alloc(size);
                if !moved.is_null() {
                    ptr::copy_nonoverlapping(begin, moved, size.min(size_before));
                }
                return moved;
            }
            let (Some(before), Some(after)) = (layout(size_before), layout(size)) else {
                return ptr::null_mut();
            };
            self.0.unlink(block);
            let moved = as_header(System.realloc(block.cast(), before, after.size()));
            if moved.is_null() {
                self.0.link(block, before);
                return ptr::null_mut();
            }
            self.0.link(moved, after);
            content(moved)
        }
    }

    unsafe fn usable_size(begin: *mut u8) -> usize {
        // SAFETY: the caller got it from us.
        unsafe { (*header(begin)).size }
    }
}

/// The layout of a block with so many bytes for the engine, header included.
fn layout(size: usize) -> Option<Layout> {
    let size = size.checked_next_multiple_of(ALIGN_BYTES)?.checked_add(HEADER_BYTES)?;
    Layout::from_size_align(size, ALIGN_BYTES).ok()
}

fn room_layout() -> Option<Layout> {
    Layout::from_size_align(ROOM_BYTES, ALIGN_BYTES).ok()
}

/// What the engine gets of a block; null of null.
fn content(block: *mut Header) -> *mut u8 {
    if block.is_null() { ptr::null_mut() } else { block.cast::<u8>().wrapping_add(HEADER_BYTES) }
}

/// The header before what the engine got.
fn header(begin: *mut u8) -> *mut Header {
    as_header(begin.wrapping_sub(HEADER_BYTES))
}

/// The header at the beginning of a block.
#[expect(clippy::cast_ptr_alignment, reason = "blocks are aligned like headers")]
fn as_header(block: *mut u8) -> *mut Header {
    block.cast::<Header>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a pattern over the whole block.
    fn fill(begin: *mut u8, size: usize, with: u8) {
        assert!(!begin.is_null() && begin.addr().is_multiple_of(ALIGN_BYTES));
        // SAFETY: it has so many bytes.
        unsafe { begin.write_bytes(with, size) };
    }

    fn holds(begin: *mut u8, size: usize, expected: u8) -> bool {
        // SAFETY: it has so many bytes, and they are initialized.
        unsafe { std::slice::from_raw_parts(begin, size) }.iter().all(|byte| *byte == expected)
    }

    fn later_count(memory: &Memory) -> usize {
        let (mut block, mut count) = (memory.later.get(), 0);
        while !block.is_null() {
            count += 1;
            // SAFETY: it is in the list.
            block = unsafe { (*block).next };
        }
        count
    }

    #[test]
    fn everything_is_put_back() {
        let memory = Memory::new().unwrap();
        let mut source = Source(Rc::clone(&memory));
        let [first, second] = [source.alloc(100), source.alloc(5000)];
        fill(first, 100, 1);
        fill(second, 5000, 2);
        memory.keep();
        for round in 0..3 {
            fill(first, 100, 9);
            let blocks: Vec<*mut u8> = (1..50).map(|size| source.alloc(size * 97)).collect();
            for (size, block) in (1..50).zip(&blocks) {
                fill(*block, size * 97, 3);
            }
            // SAFETY: all are from this source and used no more, and nothing refers to them.
            unsafe {
                source.dealloc(second);
                for block in blocks.iter().skip(round).step_by(3) {
                    source.dealloc(*block);
                }
                assert!(later_count(&memory) > 20);
                memory.restore();
            }
            assert_eq!(later_count(&memory), 0);
            assert!(holds(first, 100, 1) && holds(second, 5000, 2));
        }
    }

    #[test]
    fn blocks_grow_and_shrink() {
        let memory = Memory::new().unwrap();
        let mut source = Source(Rc::clone(&memory));
        let early = source.alloc(64);
        fill(early, 64, 5);
        memory.keep();
        // SAFETY: all are from this source, and used no more once they are given back.
        unsafe {
            let moved = source.realloc(early, 4096);
            assert!(moved != early && holds(moved, 64, 5) && Source::usable_size(moved) >= 4096);
            fill(moved, 4096, 6);
            let other = source.calloc(10, 10);
            assert!(holds(other, 100, 0));
            let large = source.realloc(moved, 1 << 20);
            assert!(holds(large, 4096, 6));
            let small = source.realloc(large, 10);
            assert!(holds(small, 10, 6) && later_count(&memory) == 2);
            assert!(source.realloc(small, usize::MAX - 7).is_null(), "nothing is that large");
            assert!(holds(small, 10, 6) && later_count(&memory) == 2);
            assert!(source.calloc(usize::MAX, 2).is_null() && source.alloc(usize::MAX).is_null());
            source.dealloc(other);
            source.dealloc(small);
            assert_eq!(later_count(&memory), 0);
            memory.restore();
            assert!(holds(early, 64, 5));
        }
    }

    #[test]
    fn a_full_room_gives_nothing() {
        let memory = Memory::new().unwrap();
        let mut source = Source(Rc::clone(&memory));
        assert!(source.alloc(ROOM_BYTES).is_null());
        let most = source.alloc(ROOM_BYTES - HEADER_BYTES);
        fill(most, ROOM_BYTES - HEADER_BYTES, 1);
        assert!(source.alloc(1).is_null() && source.calloc(1, 1).is_null());
    }
}
