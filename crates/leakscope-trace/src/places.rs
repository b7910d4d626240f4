//! From the stacks of a record to places. A place is known by a number, since
//! many blocks, snapshots and processes have the same few.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use addr2line::gimli::Register;
use indexmap::IndexSet;
use leakscope_core::{Cause, Frame, Place};
use leakscope_wire as wire;

use crate::address_space::AddressSpace;
use crate::dwarf::Debug;
use crate::leaving::Sources;
use crate::objects::{Called, Objects, Passed};
use crate::record::{Record, Site, Stack};
use crate::slots::{CodePlace, FrameSlots};
use crate::steps::Target;
use crate::symbols::{FrameId, ModuleId, Symboliser};
use crate::variables::Held;

mod of_record;

pub use of_record::RecordPlaces;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceId(usize);

/// The call of an allocation function by a library. Places do not tell those of
/// one function of it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call(ModuleId, u64);

/// All places that were named, each once.
pub struct Places {
    symboliser: Symboliser,
    variables: FrameSlots,
    objects: Objects,
    sources: Sources,
    known: IndexSet<Known>,
    /// Whether functions only hand memory out, and only take it back, by name and
    /// file.
    wraps: [HashMap<Function, bool>; 2],
}

/// A function by its name and its file.
type Function = (Option<String>, Option<String>);

/// Which of the two is asked.
#[derive(Clone, Copy)]
enum Wraps {
    Allocation,
    Free,
}

/// A [`Place`] by the numbers of its frames.
#[derive(PartialEq, Eq, Hash)]
struct Known {
    inner: Vec<FrameId>,
    stack: Vec<FrameId>,
}

/// What held a pointer.
struct Named {
    name: String,
    /// So many frames lie inside the one that calls it so: they act for it.
    inside: usize,
    /// Or they are functions that were inlined, and have ended before.
    ended: usize,
}

impl From<String> for Named {
    fn from(name: String) -> Named {
        Named { name, inside: 0, ended: 0 }
    }
}

impl Places {
    /// `program` is the user's program, wherever it lies.
    pub fn new(program: &Path) -> Places {
        Places {
            symboliser: Symboliser::new(program),
            variables: FrameSlots::default(),
            objects: Objects::default(),
            sources: Sources::default(),
            known: IndexSet::new(),
            wraps: Default::default(),
        }
    }

    /// Names all stacks of `record`. Debug information is dropped then: other
    /// questions read it in another way, and both need much memory.
    pub fn of_record(&mut self, record: &Record) -> RecordPlaces {
        let space = AddressSpace::new(record, &mut self.symboliser);
        record.modules.iter().for_each(|module| self.objects.read(&module.path));
        let mut by_stack = HashMap::with_capacity(record.stacks.len());
        let (mut frames, mut held, mut copies) = (Vec::new(), HashMap::new(), HashSet::new());
        let (mut calls, mut causes) = (HashMap::new(), HashMap::new());
        let freed: HashSet<u32> = record.frees.iter().map(|free| free.freed).collect();
        for (&id, stack) in &record.stacks {
            frames.clear();
            let at_end = record.site(stack).and_then(|site| self.at_end(&space, stack, site));
            let placed = at_end.as_ref().unwrap_or(stack);
            self.name_frames(&space, placed, &mut frames);
            let innermost = stack.addresses.first().map(|address| address.wrapping_sub(1));
            let called = innermost.and_then(|call| space.find(stack.generation, call));
            if let Some((module, probe)) = called.filter(|&(module, _)| self.symboliser.is_library(module)) {
                calls.insert(id, Call(module, probe));
            }
            let site = record.site(stack);
            let line = site.and_then(|site| Some((site.line?, site.column)));
            // Lines of the system's frames are not shown.
            let is_users = frames.first().is_some_and(|&id| !self.symboliser.frame(id).system);
            let line = line.or_else(|| self.left_by(&space, placed, site.filter(|_| is_users)?, frames[0]));
            if let (Some(innermost), Some((line, column))) = (frames.first_mut(), line) {
                *innermost = self.symboliser.at_line(*innermost, line, column);
            }
            if let Some(site) = site {
                match self.variable(record, &space, stack, site, &frames) {
                    Some(Named { name, inside, ended }) => {
                        frames.drain(..if at_end.is_none() { ended } else { 0 });
                        for frame in frames.iter_mut().take(inside) {
                            *frame = self.symboliser.as_wrapper(*frame);
                        }
                        let constructors = match site.cause {
                            Some(wire::Cause::ScopeEnd) if name == "this" => self.constructors(&frames),
                            _ => 0,
                        };
                        if constructors == 0 {
                            held.insert(id, name);
                        } else {
                            frames.drain(..constructors);
                            causes.insert(id, Cause::Discarded);
                        }
                    }
                    None if site.cause == Some(wire::Cause::HolderFreed) => {
                        self.mark_wrappers(&space, stack, &mut frames, Wraps::Free);
                    }
                    None if site.register().is_some() && self.has_variables(&space, stack) => {
                        copies.insert(id);
                    }
                    None => {}
                }
            }
            if let (Some(site), Some(innermost)) = (site, frames.first_mut())
                && !causes.contains_key(&id)
            {
                *innermost = self.left_in_source(site, at_end.is_none(), *innermost);
                if self.is_needed_to_leave(site, &frames) {
                    causes.insert(id, Cause::Unwound);
                }
            }
            if freed.contains(&id) {
                self.mark_wrappers(&space, stack, &mut frames, Wraps::Free);
            } else if site.is_none() {
                self.mark_wrappers(&space, stack, &mut frames, Wraps::Allocation);
            }
            by_stack.insert(id, self.place_of(&frames));
        }
        let mut last_uses = BTreeMap::new();
        for stamps in &record.stamps {
            let of_block = (stamps.stacks[0], stamps.last_used);
            if copies.contains(&of_block.0) && !last_uses.contains_key(&of_block) {
                last_uses.extend(self.last_use(record, &space, of_block).map(|last| (of_block, last)));
            }
        }
        let mut later_uses = BTreeMap::new();
        for (_, stamps) in record.stamps.iter().enumerate().filter(|&(block, _)| record.is_used_after(block))
        {
            let of_block = (stamps.stacks[0], stamps.last_used);
            if let Entry::Vacant(entry) = later_uses.entry(of_block)
                && let Some(place) = self.later_use(record, &space, of_block)
            {
                entry.insert(place);
            }
        }
        self.symboliser.forget();
        let unknown = self.place_of(&[]);
        RecordPlaces { by_stack, calls, held, causes, copies, last_uses, later_uses, unknown }
    }

    /// The frames of a stack, up to those that no place keeps (`place_of`): behind
    /// the user's outermost, or behind `main`, libraries are not even read.
    fn name_frames(&mut self, space: &AddressSpace, stack: &Stack, frames: &mut Vec<FrameId>) {
        let (mut has_users, mut has_main, mut behind) = (false, false, Vec::new());
        for &address in &stack.addresses {
            // The call is before the address to which it returns.
            let call = address.wrapping_sub(1);
            let found = space.find(stack.generation, call);
            let in_library = found.is_none_or(|(module, _)| self.symboliser.is_library(module));
            if has_users && in_library {
                behind.push((call, found));
                continue;
            }
            let named = self.frames_at(call, found, has_users);
            let (users, main) = (self.any(&named, Places::is_own), self.any(&named, Places::is_main));
            if has_users && (!users || has_main && !main) {
                behind.push((call, found));
                continue;
            }
            for (call, found) in behind.drain(..) {
                frames.extend(self.frames_at(call, found, true));
            }
            (has_users, has_main) = (has_users || users, has_main || main);
            frames.extend(named);
        }
    }

    /// The frames at an address, where so far only the system's lie inside, or
    /// others too.
    fn frames_at(&mut self, call: u64, found: Option<(ModuleId, u64)>, has_users: bool) -> Vec<FrameId> {
        match found {
            Some((module, probe)) if !has_users => self.innermost_frames(module, probe),
            Some((module, probe)) => self.symboliser.frames(module, probe).to_vec(),
            None => vec![self.symboliser.unknown(call)],
        }
    }

    fn any(&self, frames: &[FrameId], is: fn(&Frame) -> bool) -> bool {
        frames.iter().any(|&id| is(self.symboliser.frame(id)))
    }

    fn is_own(frame: &Frame) -> bool {
        !frame.system
    }

    fn is_main(frame: &Frame) -> bool {
        !frame.system && frame.function.as_deref() == Some("main")
    }

    /// How many constructors lie inside of the user's code that asked for an object: it has the
    /// object, not they.
    fn constructors(&self, frames: &[FrameId]) -> usize {
        let frame = |&id: &FrameId| self.symboliser.frame(id);
        let is_constructor = |frame: &&Frame| frame.function.as_deref().is_some_and(is_constructor);
        let count = frames.iter().map(frame).take_while(is_constructor).count();
        if frames.get(count).map(frame).is_some_and(Places::is_own) { count } else { 0 }
    }

    /// The frames at an address, but members that the compiler made, inside of the
    /// user's own code, are the system's.
    fn innermost_frames(&mut self, module: ModuleId, probe: u64) -> Vec<FrameId> {
        let mut frames = self.symboliser.frames(module, probe).to_vec();
        let may_be_implicit = |name: &str| name.contains("::~") || name.contains("::operator=(");
        let is_users = |places: &Places, id| !places.symboliser.frame(id).system;
        let Some(first) = frames.iter().position(|&id| is_users(self, id)) else { return frames };
        let name = |id| self.symboliser.frame(id).function.as_deref();
        if !name(frames[first]).is_some_and(may_be_implicit) {
            return frames;
        }
        let implicit = self.variables.functions(self.symboliser.path(module), probe, Debug::is_implicit);
        for (id, _) in frames.iter_mut().zip(implicit).skip(first).take_while(|(_, implicit)| *implicit) {
            *id = self.symboliser.as_system(*id);
        }
        frames
    }

    /// The user's innermost functions that only free what they are given, or only
    /// hand out what is asked for, are wrappers.
    fn mark_wrappers(&mut self, space: &AddressSpace, stack: &Stack, frames: &mut [FrameId], wraps: Wraps) {
        let mut at = 0;
        for &address in &stack.addresses {
            let Some((module, probe)) = space.find(stack.generation, address.wrapping_sub(1)) else { return };
            let own = self.symboliser.frames(module, probe).len();
            let Some(frames) = frames.get_mut(at..at + own) else { return };
            at += own;
            if frames.iter().all(|&id| self.symboliser.frame(id).system) {
                continue;
            }
            let answers = self.wraps(module, probe, frames, wraps);
            for (id, wraps) in frames.iter_mut().zip(answers) {
                match self.symboliser.frame(*id).system {
                    true => {}
                    false if wraps => *id = self.symboliser.as_wrapper(*id),
                    false => return,
                }
            }
        }
    }

    /// For each frame at a place, whether its function is a wrapper. Debug information is asked
    /// once for each function: there the whole unit is read.
    fn wraps(&mut self, module: ModuleId, probe: u64, frames: &[FrameId], wraps: Wraps) -> Vec<bool> {
        let key = |places: &Places, id: FrameId| {
            let Frame { function, file, .. } = places.symboliser.frame(id);
            (function.clone(), file.clone())
        };
        let known = &self.wraps[wraps as usize];
        let answers = frames.iter().map(|&id| known.get(&key(self, id)).copied());
        if let Some(answers) = answers.collect() {
            return answers;
        }
        let ask = match wraps {
            Wraps::Allocation => Debug::gives_anything,
            Wraps::Free => Debug::takes_anything,
        };
        let answers = self.variables.functions(self.symboliser.path(module), probe, ask);
        for (&id, &answer) in frames.iter().zip(&answers) {
            let key = key(self, id);
            self.wraps[wraps as usize].insert(key, answer);
        }
        answers
    }

    /// Where the function that had a copy in a register used the block last, by
    /// the stacks of the copy's death and of the last use; and the variable that
    /// was in the register there.
    fn last_use(
        &mut self,
        record: &Record,
        space: &AddressSpace,
        (copy, used): (u32, u32),
    ) -> Option<(PlaceId, Option<String>)> {
        let (copy, used) = (record.stacks.get(&copy)?, record.stacks.get(&used)?);
        let own = copy.addresses.len();
        let addresses = used.addresses.get(used.addresses.len().checked_sub(own)?..)?;
        if own == 0 || addresses[1..] != copy.addresses[1..] {
            return None;
        }
        let mut located =
            addresses.iter().map_while(|address| space.find(used.generation, address.wrapping_sub(1)));
        let (module, probe) = located.next()?;
        // Another function may be called from the same place.
        let (died, at) = space.find(copy.generation, copy.addresses[0].wrapping_sub(1))?;
        let function = |places: &mut Places, probe| places.symboliser.frames(module, probe).last().copied();
        let [there, here] = [probe, at].map(|probe| function(self, probe));
        let name = |id: Option<FrameId>| id.and_then(|id| self.symboliser.frame(id).function.clone());
        if died != module || name(there) != name(here) {
            return None;
        }
        let mut frames: Vec<FrameId> = self.symboliser.frames(module, probe).to_vec();
        for (module, probe) in located {
            frames.extend(self.symboliser.frames(module, probe).iter());
        }
        let register = Held::Register(Register(record.site(copy)?.register()?));
        let name = self.variables.name(&[(self.symboliser.path(module), probe)], register);
        Some((self.place_of(&frames), name))
    }

    /// Where a block was used after its latest stamp, by the stacks of both, seen
    /// from the innermost function that is on both of them, inlined ones too: it,
    /// or one that it calls, had the last pointer.
    fn later_use(
        &mut self,
        record: &Record,
        space: &AddressSpace,
        (stamp, used): (u32, u32),
    ) -> Option<PlaceId> {
        let (stamp, used) = (record.stacks.get(&stamp)?, record.stacks.get(&used)?);
        let outer = stamp.addresses.iter().rev().zip(used.addresses.iter().rev());
        let shared = outer.take_while(|(stamp, used)| stamp == used).count();
        let located =
            |stack: &Stack, at: usize| space.find(stack.generation, stack.addresses.get(at)?.wrapping_sub(1));
        let own = |stack: &Stack| Some(located(stack, stack.addresses.len().checked_sub(shared + 1)?));
        let mut frames = Vec::new();
        if let (Some(Some(stamp)), Some(Some(used))) = (own(stamp), own(used)) {
            let frames_at =
                |places: &mut Places, (module, probe)| places.symboliser.frames(module, probe).to_vec();
            let (stamped, here) = (frames_at(self, stamp), frames_at(self, used));
            let function = |id: &FrameId| self.symboliser.frame(*id).function.as_deref();
            let same = |(a, b): &(&FrameId, &FrameId)| function(a).is_some() && function(a) == function(b);
            let common = stamped.iter().rev().zip(here.iter().rev()).take_while(same).count();
            frames.extend(here.iter().skip(here.len() - common));
        }
        for at in used.addresses.len() - shared..used.addresses.len() {
            let (module, probe) = located(used, at)?;
            frames.extend(self.symboliser.frames(module, probe).iter());
        }
        Some(self.place_of(&frames)).filter(|&place| self.is_users(place))
    }

    /// The stack at the end of the function that a jump led to, if the source has no statement
    /// for it.
    fn at_end(&mut self, space: &AddressSpace, stack: &Stack, site: &Site) -> Option<Stack> {
        let (end, &jump) = (site.end?, stack.addresses.first()?);
        let (module, probe) = space.find(stack.generation, jump.wrapping_sub(1))?;
        let &innermost = self.symboliser.frames(module, probe).first()?;
        let Frame { file: Some(file), line: Some(line), .. } = self.symboliser.frame(innermost) else {
            return None;
        };
        if self.sources.left_by(file, *line).is_some() {
            return None;
        }
        let mut addresses = stack.addresses.clone();
        addresses[0] = jump.wrapping_add_signed(end.into());
        Some(Stack { addresses, ..*stack })
    }

    /// The frame in which a scope was left, at the statement that did it, if the source alone
    /// says which that is. The frame may be that of the site, or where its jump led.
    fn left_in_source(&mut self, site: &Site, is_there: bool, frame: FrameId) -> FrameId {
        let Frame { file: Some(file), line: Some(line), system: false, .. } = self.symboliser.frame(frame)
        else {
            return frame;
        };
        let found = match site.cause {
            Some(wire::Cause::ScopeEnd) if site.leaves && is_there => self.sources.left_by(file, *line),
            Some(wire::Cause::ScopeEnd) => self.sources.before_brace(file, *line),
            _ => None,
        };
        found.map_or(frame, |(line, column)| self.symboliser.at_line(frame, line, Some(column)))
    }

    /// Whether a register was overwritten only by what leaves its function for good: an
    /// exception that is made, the arguments of a jump.
    fn is_needed_to_leave(&mut self, site: &Site, frames: &[FrameId]) -> bool {
        let own = frames.iter().map(|&id| self.symboliser.frame(id)).find(|frame| Places::is_own(frame));
        let Some(Frame { file: Some(file), line: Some(line), .. }) = own else { return false };
        // Of memory the code says how it got there; derived code has its own statements.
        let is_register = site.register().is_some() || site.held.is_none() && site.steps.is_empty();
        site.cause == Some(wire::Cause::Overwritten)
            && site.line.is_none()
            && is_register
            && self.sources.leaves_frames_at(file, *line)
    }

    /// The statement that left the scope in which a pointer died, where the
    /// compiler has made nothing but the scope's end of it, or one of it and another.
    fn left_by(
        &mut self,
        space: &AddressSpace,
        stack: &Stack,
        site: &Site,
        frame: FrameId,
    ) -> Option<(u32, Option<u32>)> {
        let is_end = matches!(site.cause, Some(wire::Cause::ScopeEnd | wire::Cause::ThreadEnd));
        // Derived code has its own statements.
        if !is_end || site.variable.is_some() {
            return None;
        }
        let (module, probe) = space.find(stack.generation, stack.addresses.first()?.wrapping_sub(1))?;
        let found = self.variables.statement(self.symboliser.path(module), probe)?;
        let Frame { file, line, .. } = self.symboliser.frame(frame);
        // What only begins there, and is carried out later, is not what left the scope.
        let is_before = line.is_some_and(|line| found.0 < line);
        let is_meant = is_before || file.as_ref().is_some_and(|file| self.sources.jumps_at(file, found.0));
        is_meant.then_some(found)
    }

    /// Whether debug information says what is in the registers of the innermost
    /// frame.
    fn has_variables(&mut self, space: &AddressSpace, stack: &Stack) -> bool {
        let innermost = stack.addresses.first().map(|address| address.wrapping_sub(1));
        let module = innermost.and_then(|address| space.find(stack.generation, address));
        module.is_some_and(|(module, _)| self.variables.has_variables(self.symboliser.path(module)))
    }

    /// What held the pointer that died at a site, if its place alone is known.
    fn variable(
        &mut self,
        record: &Record,
        space: &AddressSpace,
        stack: &Stack,
        site: &Site,
        frames: &[FrameId],
    ) -> Option<Named> {
        let (frame, place) = match site.register().filter(|_| site.cause == Some(wire::Cause::ScopeEnd)) {
            Some(register) => (1, wire::IN_REGISTER | u32::from(register)),
            None => site.held.unwrap_or_default(),
        };
        if frame == wire::OF_THREAD as usize {
            return self.variables.of_thread(&record.modules.first()?.path, place).map(Named::from);
        }
        if frame == wire::BEHIND_ARGUMENT as usize && self.objects.has_passed() {
            return self.passed(frames, site, place);
        }
        let mut located = Vec::new();
        let mut users = None;
        for &address in &stack.addresses {
            let Some((module, probe)) = space.find(stack.generation, address.wrapping_sub(1)) else { break };
            if users.is_none() {
                let mut frames = self.innermost_frames(module, probe).into_iter();
                let is_users = frames.any(|frame| !self.symboliser.frame(frame).system);
                users = is_users.then_some(located.len());
            }
            located.push((module, probe));
        }
        let by_steps = frame == wire::BY_STEPS as usize;
        let behind_argument = frame == wire::BEHIND_ARGUMENT as usize;
        if !by_steps && !behind_argument && frame > 0 {
            let innermost_code = located.first().copied();
            let outer = located.iter().skip(frame - 1);
            let located: Vec<(&Path, u64)> =
                outer.map(|&(module, probe)| (self.symboliser.path(module), probe)).collect();
            let (name, inlined) = self.variables.name_within(&located, Held::new(place))?;
            let ends = frame == 1 && site.cause == Some(wire::Cause::ScopeEnd);
            let ended = match (inlined.filter(|_| ends), innermost_code) {
                (Some(around), Some((module, probe))) => {
                    self.symboliser.frames(module, probe).len().saturating_sub(around + 1)
                }
                _ => 0,
            };
            return Some(Named { name, inside: 0, ended });
        }
        // What a library does is named by what the user's code gave it.
        let users = users?;
        let (module, _) = located[users];
        let from = |places: &Places, at: usize| {
            let (module, probe) = located[at];
            let bias = stack.addresses[at].wrapping_sub(1).wrapping_sub(probe);
            CodePlace { path: places.symboliser.path(module).to_owned(), probe, bias }
        };
        if by_steps && users == 0 {
            let from = from(self, users);
            return self.variables.by_steps(&from, &site.steps, Target::Place).map(Named::from);
        }
        let is_direct = located[..users].iter().all(|&(inner, _)| inner != module);
        if !behind_argument || !is_direct {
            let steps = record.arguments.get(&(stack.addresses[users], 0))?;
            let from = from(self, users);
            return self.variables.by_steps(&from, steps, Target::Object).map(Named::from);
        }
        // One that takes any pointer is named by what its caller gave it.
        let (mut number, target) = (place & 0xf, Target::Behind(u64::from(place >> 4)));
        for at in users..located.len() {
            let steps = record.arguments.get(&(stack.addresses[at], number))?;
            let from = from(self, at);
            let named = self.variables.by_steps(&from, steps, target);
            if let Some(name) = named.or_else(|| self.variables.by_argument(&from, number, target)) {
                let inner = stack.addresses[..at].iter().zip(&located);
                let inside = inner.map(|(_, &(module, probe))| self.symboliser.frames(module, probe).len());
                return Some(Named { name, inside: inside.sum(), ended: 0 });
            }
            number = self.variables.parameter(&from, steps)?;
        }
        None
    }

    /// What a block that was freed by a function which takes any pointer is to
    /// its caller.
    fn passed(&self, frames: &[FrameId], site: &Site, place: u32) -> Option<Named> {
        let (mut number, offset) = (place & 0xf, u64::from(place >> 4));
        let frame = |index: usize| frames.get(index).map(|&id| self.symboliser.frame(id));
        let is_wrapper = |index| frame(index).is_some_and(|frame| frame.system && frame.is_deallocator());
        // The function with the site got the block; else a function of a library did.
        let first = usize::from(site.line.is_some() || is_wrapper(0));
        for inside in first..frames.len() {
            let Frame { file, line, column, .. } = frame(inside)?;
            let place = (file.as_deref()?, (*line)?, (*column)?);
            match self.objects.passed(place, number, offset)? {
                Passed::With(name) => return Some(Named { name, inside, ended: 0 }),
                Passed::On(parameter) => number = parameter,
            }
        }
        None
    }

    /// The user's innermost frame comes first. Frames of the system inside it
    /// are kept apart, what lies below `main` is left out. Where no frame is
    /// the user's, all are kept.
    fn place_of(&mut self, frames: &[FrameId]) -> PlaceId {
        let users = |id: &FrameId| Places::is_own(self.symboliser.frame(*id));
        let known = match (frames.iter().position(users), frames.iter().rposition(users)) {
            (Some(first), Some(last)) => {
                let is_main = |id: &FrameId| Places::is_main(self.symboliser.frame(*id));
                let last = frames.iter().rposition(is_main).unwrap_or(last);
                let (inner, stack) = (&frames[..first.min(last)], &frames[first.min(last)..=last]);
                let mut inner: Vec<FrameId> =
                    inner.iter().map(|&id| self.symboliser.without_line(id)).collect();
                inner.dedup();
                Known { inner, stack: stack.to_vec() }
            }
            _ => Known { inner: Vec::new(), stack: frames.to_vec() },
        };
        PlaceId(self.known.insert_full(known).0)
    }

    /// The function of a record's program at a return address of code that is
    /// still there.
    pub fn function(&mut self, record: &Record, address: u64) -> Option<String> {
        let space = AddressSpace::new(record, &mut self.symboliser);
        let generation = record.modules.iter().map(|module| module.at.first_generation).max()?;
        let (module, probe) = space.find(generation, address.wrapping_sub(1))?;
        let frames = self.symboliser.frames(module, probe);
        self.symboliser.frame(*frames.last()?).function.clone()
    }

    pub fn place(&self, id: PlaceId) -> Place {
        let frames = |ids: &[FrameId]| ids.iter().map(|&id| self.symboliser.frame(id).clone()).collect();
        let known = &self.known[id.0];
        Place { stack: frames(&known.stack), inner: frames(&known.inner) }
    }

    /// The frames of a place from the user's innermost on.
    pub fn stack(&self, id: PlaceId) -> impl Iterator<Item = &Frame> + Clone {
        self.known[id.0].stack.iter().map(|&id| self.symboliser.frame(id))
    }

    /// The frames of the system inside the user's innermost.
    pub fn inner(&self, id: PlaceId) -> impl Iterator<Item = &Frame> {
        self.known[id.0].inner.iter().map(|&id| self.symboliser.frame(id))
    }

    /// The innermost frame of all, whoever's it is.
    pub fn innermost(&self, id: PlaceId) -> Option<&Frame> {
        let known = &self.known[id.0];
        known.inner.first().or(known.stack.first()).map(|&id| self.symboliser.frame(id))
    }

    /// The object on which the user's code called a function of a library in
    /// which this happened; without its name if that is not certain.
    pub fn object(&self, id: PlaceId) -> Option<(Called, Option<&str>)> {
        let known = &self.known[id.0];
        let (&called, &outer) = known.inner.last().zip(known.stack.first())?;
        let frame = self.symboliser.frame(outer);
        let place = (frame.file.as_deref()?, frame.line?, frame.column?);
        self.objects.find(place, self.symboliser.frame(called).function.as_deref().unwrap_or_default())
    }

    /// Whether an integer changes by one there, or up to so many lines before, as
    /// where a block counts its holders.
    pub fn counts(&self, frame: &Frame, before: u32) -> bool {
        let place = frame.file.as_deref().zip(frame.line);
        place.is_some_and(|(file, line)| self.objects.counts(file, line, before))
    }

    /// Code of the user's program had a part in it.
    pub fn is_users(&self, id: PlaceId) -> bool {
        self.known[id.0].stack.first().is_some_and(|&id| !self.symboliser.frame(id).system)
    }
}

/// Whether a function is called `Name::Name(…)` or, of a template, `Name<…>::Name(…)`.
fn is_constructor(function: &str) -> bool {
    let mut depth = 0;
    let mut path = String::new();
    for character in function.chars() {
        match character {
            '(' if depth == 0 => break,
            '<' => depth += 1,
            '>' => depth -= 1,
            _ if depth == 0 => path.push(character),
            _ => {}
        }
    }
    let mut names = path.rsplit("::");
    names.next().is_some_and(|name| names.next() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructors_are_told_by_their_names() {
        let check = |name, expected| assert_eq!(is_constructor(name), expected, "{name}");
        check("Audit::Audit(char const*)", true);
        check("audit::Line<std::map<int, int> >::Line(int (*)(int))", true);
        check("Audit::~Audit()", false);
        check("Audit::send(Audit::Audit)", false);
        check("main", false);
        check("operator<(Audit const&, Audit const&)", false);
    }
}
