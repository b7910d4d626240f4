//! The heap against a model: a map from addresses to blocks.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use proptest::prelude::*;

use super::large::MOVED_MIN;
use super::*;
use crate::thread;

#[derive(Clone, Debug)]
enum Action {
    Allocate {
        size: usize,
        align: u32,
    },
    Free(usize),
    Resize(usize, usize),
    /// An address in or near a live block.
    Find(usize, isize),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let size = prop_oneof![8 => 0..300usize, 3 => 0..40_000usize, 1 => 0..400_000usize];
    let action = prop_oneof![
        4 => (size.clone(), 0..18u32).prop_map(|(size, align)| Action::Allocate { size, align }),
        3 => any::<usize>().prop_map(Action::Free),
        1 => (any::<usize>(), size).prop_map(|(which, size)| Action::Resize(which, size)),
        4 => (any::<usize>(), -40..400_000isize).prop_map(|(which, offset)| Action::Find(which, offset)),
    ];
    prop::collection::vec(action, 1..200)
}

/// One test at a time: what another has would be found beside the model's.
static ALONE: Mutex<()> = Mutex::new(());

/// What the heap should hold: size and stack by address.
type Model = BTreeMap<usize, (usize, u32)>;

fn chosen(model: &Model, which: usize) -> Option<usize> {
    model.keys().nth(which % model.len().max(1)).copied()
}

fn act(thread: &mut Thread, model: &mut Model, action: &Action, stack: u32) {
    match *action {
        Action::Allocate { size, align } => {
            let align = 1 << align;
            let request = Request { size, align, zeroed: true, stack };
            let Some(Block { start, .. }) = allocate(thread, request) else { panic!("no memory") };
            assert_eq!(start % align.max(16), 0);
            // SAFETY: a block of at least so many bytes.
            let bytes = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, size) };
            assert!(bytes.iter().all(|&byte| byte == 0));
            bytes.fill(0xa5);
            let before = model.range(..start + size.max(1)).next_back();
            assert!(before.is_none_or(|(&other, &(size, _))| other + size.max(1) <= start), "blocks overlap");
            model.insert(start, (size, stack));
        }
        Action::Free(which) => {
            let Some(start) = chosen(model, which) else { return };
            model.remove(&start);
            let Ok(block) = live_block(start) else { panic!("a live block is not known") };
            free(thread, block, stack);
            assert!(live_block(start).is_err());
        }
        Action::Resize(which, size) => {
            let Some(start) = chosen(model, which) else { return };
            let Ok(block) = live_block(start) else { panic!("a live block is not known") };
            if resize(block, size, stack) {
                model.insert(start, (size, stack));
            }
        }
        Action::Find(which, offset) => {
            let Some(near) = chosen(model, which) else { return };
            let address = near.wrapping_add_signed(offset);
            let around = model.range(..=address).next_back();
            let expected = around.filter(|&(&start, &(size, _))| address - start < size);
            let found = find(address).filter(|block| block.is_live() && address - block.start < block.size());
            assert_eq!(
                found.map(|block| (block.start, block.size(), block.stack())),
                expected.map(|(&start, &(size, stack))| (start, size, stack))
            );
        }
    }
}

proptest! {
    #[test]
    fn the_heap_is_a_map_from_addresses_to_blocks(actions in actions()) {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the thread's own state, which nothing else uses in tests.
        let thread = unsafe { &mut *thread::current() };
        let mut model = Model::new();
        for (number, action) in actions.iter().enumerate() {
            act(thread, &mut model, action, number as u32);
        }
        let mut live = Model::new();
        for_each_live(|block| live.extend([(block.start, (block.size(), block.stack()))]));
        for (start, what) in &model {
            prop_assert_eq!(live.get(start), Some(what));
        }
        for &start in model.keys() {
            let Ok(block) = live_block(start) else { panic!("a live block is not known") };
            free(thread, block, 0);
        }
    }
}

#[test]
fn content_moves_whole_whatever_its_size() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the thread's own state, which nothing else uses in tests.
    let thread = unsafe { &mut *thread::current() };
    for size in [100, 40_000, MOVED_MIN - 1, MOVED_MIN, 20 * CHUNK + 5000] {
        let request = Request { size, align: 16, zeroed: true, stack: 1 };
        let [from, to] = [size, size + CHUNK].map(|size| {
            let Some(block) = allocate(thread, Request { size, ..request }) else { panic!("no memory") };
            block
        });
        // SAFETY: blocks of at least so many bytes.
        let [old, new] =
            [from, to].map(|block| unsafe { std::slice::from_raw_parts_mut(block.start as *mut u8, size) });
        old.iter_mut().enumerate().for_each(|(number, byte)| *byte = number as u8 | 1);
        move_content(from, to.start, size);
        assert!(new.iter().enumerate().all(|(number, &byte)| byte == number as u8 | 1), "{size}");
        // What moved away is as usable as before.
        old.fill(7);
        [from, to].into_iter().for_each(|block| free(thread, block, 0));
        let Some(again) = allocate(thread, request) else { panic!("no memory") };
        // SAFETY: as above.
        let bytes = unsafe { std::slice::from_raw_parts(again.start as *const u8, size) };
        assert!(bytes.iter().all(|&byte| byte == 0), "{size}");
        free(thread, again, 0);
    }
}
