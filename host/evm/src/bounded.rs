//! Many contract calls in one `eth_call`, each with its own limit of gas and of answer size. The calls are made by code
//! that the request carries and that no chain stores: it runs as the creation code of a contract that is never created.
//! A contract that uses up its gas, reverts with any words or answers with megabytes is one failed call; it cannot fail
//! the request, and its words never are the node's. The calls are static: none can change the state that a later one
//! reads.

use alloy::primitives::{Address, B256, Bytes, b256};

/// Begins every answer, and shows that the code ran.
const MAGIC: B256 = b256!("0x00a55a790b0c2ed7c2a6e2e1f00d5ca115b0bded0b7ca115ca1150f57a5ea55a");
/// Maximum size of code that a chain stores (EIP-170), and so of an answer, in bytes.
const MAX_ANSWER: usize = 24_576;
/// Maximum size of the calls in one request. Creation code has at most 49,152 bytes (EIP-3860).
const MAX_CALLS: usize = 40_000;
/// Bytes before the data of a call: its contract, gas, maximum answer and length.
const CALL_HEAD: usize = 28;
/// Bytes before an answer: whether the call succeeded, and its size.
const ANSWER_HEAD: usize = 32;
/// Gas for each byte of an answer, as a chain charges it for the code that it stores.
const GAS_PER_BYTE: u64 = 200;
/// Gas that remains besides that: for the access to the next contract, the loop, and memory.
const RESERVE: u64 = 100_000;

/// Gas of a request. No transaction has more than 2^24 (EIP-7825), and some blocks not more than 15 million.
pub(crate) const REQUEST_GAS: u64 = 15_000_000;

/// A call with its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounded {
    pub to: Address,
    pub data: Bytes,
    pub gas: u32,
    /// Maximum size of the answer in bytes; a longer one is not returned.
    pub most: u16,
}

impl Bounded {
    /// Its size in a request.
    fn size(&self) -> usize {
        CALL_HEAD + self.data.len()
    }

    /// The gas that it may need, including what its answer costs.
    fn cost(&self) -> u64 {
        let answer = GAS_PER_BYTE * (ANSWER_HEAD as u64 + u64::from(self.most));
        u64::from(self.gas) + u64::from(self.gas) / 32 + answer + 20 * self.size() as u64
    }
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    Returned(Bytes),
    /// The call failed: the data with which it reverted, empty if it ran out of gas.
    Reverted(Bytes),
    /// The answer is larger than allowed.
    TooLong,
}

/// The number of the first `calls` that fit one request: at most `count`, and all of them answered in any case if
/// `surely`.
pub(crate) fn fitting(calls: &[Bounded], count: usize, surely: bool) -> usize {
    let (mut size, mut gas, mut answer) = (0, RESERVE + 100_000, 32);
    let fits = |call: &&Bounded| {
        size += call.size();
        gas += call.cost();
        answer += ANSWER_HEAD + usize::from(call.most);
        size <= MAX_CALLS && (!surely || (gas <= REQUEST_GAS && answer <= MAX_ANSWER))
    };
    calls.iter().take(count).take_while(fits).count()
}

/// The creation code that makes `calls`, as many as its gas and the size of its answer allow. `None` if they do not fit
/// a request.
pub(crate) fn code(calls: &[Bounded]) -> Option<Bytes> {
    let mut input = Vec::new();
    for call in calls {
        input.extend_from_slice(call.to.as_slice());
        input.extend_from_slice(&call.gas.to_be_bytes());
        input.extend_from_slice(&call.most.to_be_bytes());
        input.extend_from_slice(&u16::try_from(call.data.len()).ok()?.to_be_bytes());
        input.extend_from_slice(&call.data);
    }
    let size = u16::try_from(input.len()).ok().filter(|size| usize::from(*size) <= MAX_CALLS)?;
    // The answer follows the calls in memory.
    let output = size.next_multiple_of(32);
    // The places in the code do not depend on what it pushes.
    let draft = program(size, output, [0; 4]);
    let length = |parts: &[CallPart]| u16::try_from(parts.iter().map(|part| part.bytes().len()).sum::<usize>()).ok();
    let place = |mark| length(draft.get(..draft.iter().position(|part| *part == CallPart::Mark(mark))?)?);
    let places = [place(JumpMark::Loop)?, place(JumpMark::Skip)?, place(JumpMark::End)?, length(&draft)?];
    let mut code: Vec<u8> = program(size, output, places).iter().flat_map(CallPart::bytes).collect();
    code.extend_from_slice(&input);
    Some(code.into())
}

/// The outcomes of the first of `calls`, as many as were made; `None` if the answer is not of [`code`].
pub(crate) fn outcomes(answer: &[u8], calls: &[Bounded]) -> Option<Vec<CallOutcome>> {
    let mut rest = answer.strip_prefix(MAGIC.as_slice())?;
    let mut outcomes = Vec::new();
    for call in calls {
        let Some((head, after)) = rest.split_at_checked(ANSWER_HEAD) else { break };
        let (flag, size) = (head.get(23)?, head.get(24..)?.try_into().ok().map(u64::from_be_bytes)?);
        rest = after;
        if size > u64::from(call.most) {
            outcomes.push(CallOutcome::TooLong);
            continue;
        }
        let (data, after) = rest.split_at_checked(usize::try_from(size).ok()?)?;
        let data = Bytes::copy_from_slice(data);
        rest = after;
        outcomes.push(if *flag == 1 { CallOutcome::Returned(data) } else { CallOutcome::Reverted(data) });
    }
    rest.is_empty().then_some(outcomes)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JumpMark {
    Loop,
    Skip,
    End,
}

/// A part of the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallPart {
    Op(u8),
    /// Pushes one byte.
    One(u8),
    /// Pushes two bytes, such as a place in the code.
    Two(u16),
    Four(u32),
    Word(B256),
    /// A place to jump to.
    Mark(JumpMark),
}

impl CallPart {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Op(op) => vec![*op],
            Self::One(byte) => vec![0x60, *byte],
            Self::Two(number) => [&[0x61], number.to_be_bytes().as_slice()].concat(),
            Self::Four(number) => [&[0x63], number.to_be_bytes().as_slice()].concat(),
            Self::Word(word) => [&[0x7f], word.as_slice()].concat(),
            Self::Mark(_) => vec![JUMPDEST],
        }
    }
}

const ADD: u8 = 0x01;
const MUL: u8 = 0x02;
const SUB: u8 = 0x03;
const LT: u8 = 0x10;
const GT: u8 = 0x11;
const ISZERO: u8 = 0x15;
const OR: u8 = 0x17;
const SHL: u8 = 0x1b;
const SHR: u8 = 0x1c;
const CODECOPY: u8 = 0x39;
const RETURNDATASIZE: u8 = 0x3d;
const RETURNDATACOPY: u8 = 0x3e;
const POP: u8 = 0x50;
const MLOAD: u8 = 0x51;
const MSTORE: u8 = 0x52;
const JUMP: u8 = 0x56;
const JUMPI: u8 = 0x57;
const GAS: u8 = 0x5a;
const JUMPDEST: u8 = 0x5b;
const DUP1: u8 = 0x80;
const DUP2: u8 = 0x81;
const DUP3: u8 = 0x82;
const DUP4: u8 = 0x83;
const DUP5: u8 = 0x84;
const DUP6: u8 = 0x85;
const DUP7: u8 = 0x86;
const SWAP1: u8 = 0x90;
const RETURN: u8 = 0xf3;
const STATICCALL: u8 = 0xfa;

/// The code for `size` bytes of calls and an answer at `output`, without PUSH0, which some chains lack. The comments
/// show the stack, its top on the right: `call` and `out` are the places of the next call and of its answer in memory.
fn program(size: u16, output: u16, [again, skip, end, calls]: [u16; 4]) -> Vec<CallPart> {
    use CallPart::{Four, Mark as At, One, Op, Two, Word};
    // A field of the call at `call`, `depth` below the top, moved to the right by so many bits.
    let field = |depth: u8, place: u8, bits: u8| [Op(depth), One(place), Op(ADD), Op(MLOAD), One(bits), Op(SHR)];
    let mut code = vec![Two(size), Two(calls), One(0), Op(CODECOPY), Word(MAGIC), Two(output), Op(MSTORE)];
    code.extend([One(0), Two(output), One(32), Op(ADD)]); // call out
    code.push(At(JumpMark::Loop));
    // The size of the answer with that of the call at its longest.
    code.extend([Two(output), Op(DUP2), Op(SUB)]);
    code.extend(field(DUP3, 24, 240));
    code.extend([Op(ADD), One(32), Op(ADD)]); // call out after
    code.extend([Two(size), Op(DUP4), Op(LT), Op(ISZERO), Two(end), Op(JUMPI)]);
    code.extend([Two(MAX_ANSWER as u16), Op(DUP2), Op(GT), Two(end), Op(JUMPI)]);
    // The gas that this answer, the call and the rest of the code may need. A call gets at most 63/64 of what is left.
    code.extend([One(GAS_PER_BYTE as u8), Op(DUP2), Op(MUL), Four(RESERVE as u32), Op(ADD)]);
    code.extend(field(DUP4, 20, 224));
    code.extend([Op(DUP1), One(5), Op(SHR), Op(ADD), Op(ADD), Op(GAS), Op(LT), Two(end), Op(JUMPI)]);
    code.push(Op(POP)); // call out
    code.extend([One(0), One(0)]);
    code.extend(field(DUP4, 26, 240));
    code.extend([Op(DUP5), One(28), Op(ADD)]);
    code.extend([Op(DUP6), Op(MLOAD), One(96), Op(SHR)]); // call out 0 0 length data to
    code.extend(field(DUP7, 20, 224));
    code.push(Op(STATICCALL)); // call out success
    code.extend([One(64), Op(SHL), Op(RETURNDATASIZE), Op(OR), Op(DUP2), Op(MSTORE)]);
    code.extend(field(DUP2, 24, 240)); // call out most
    code.extend([Op(RETURNDATASIZE), Op(GT), Two(skip), Op(JUMPI)]);
    code.extend([Op(RETURNDATASIZE), One(0), Op(DUP3), One(32), Op(ADD), Op(RETURNDATACOPY)]);
    code.extend([Op(RETURNDATASIZE), Op(ADD)]);
    code.push(At(JumpMark::Skip));
    code.extend([One(32), Op(ADD), Op(SWAP1)]); // out call
    code.extend(field(DUP1, 26, 240));
    code.extend([Op(ADD), One(28), Op(ADD), Op(SWAP1), Two(again), Op(JUMP)]);
    code.push(At(JumpMark::End));
    code.extend([Op(POP), Two(output), Op(SWAP1), Op(SUB), Two(output), Op(RETURN)]);
    code
}

#[cfg(test)]
mod tests;
