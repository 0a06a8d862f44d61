//! LightMAC over AES-128 (Luykx, Preneel, Tischhauser and Yasuda, "A MAC mode for
//! lightweight block ciphers", 2016; ISO/IEC 29192-6), with counters of 16 bits and tags
//! of 64: a pseudorandom function as long as AES is one, however long the messages are.
//!
//! A message is cut into pieces of 14 bytes. All but the last are encrypted under one
//! key, each with its number after it, and added up; the last, padded, is added and the sum
//! encrypted under the other key. So a name of up to 14 bytes costs one call of AES, and
//! the pieces of a longer one do not wait for each other.
//!
//! The last byte of a padded piece is always free: it says what kind of message it is.
//! That keeps kinds apart as another message would be.

use aes::cipher::consts::U16;
use aes::cipher::{
    BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, KeyInit,
};
use aes::{Aes128Enc, Block};

/// Bytes of a message to a block; the rest is the block's number.
const PIECE: usize = 14;

/// The most bytes that a message may have: as many pieces as can be numbered.
#[cfg(test)]
const LONGEST: usize = PIECE << 16;

/// The two keys.
#[derive(Clone, Debug)]
pub(super) struct LightMac {
    pieces: Aes128Enc,
    last: Aes128Enc,
}

impl LightMac {
    pub fn new([pieces, last]: [[u64; 2]; 2]) -> LightMac {
        let cipher = |key| Aes128Enc::new(&block(key));
        LightMac {
            pieces: cipher(pieces),
            last: cipher(last),
        }
    }

    /// The tags of two messages, of the kinds `A` and `B`, which do not wait for each
    /// other.
    #[inline(always)]
    pub fn tags<const A: u8, const B: u8>(&self, first: &[u8], second: &[u8]) -> [u64; 2] {
        let mut tags = [0; 2];
        if first.len().max(second.len()) <= PIECE {
            let short = Short::<A, B>(first, second, &mut tags);
            self.last.encrypt_with_backend(short);
        } else {
            tags = [self.long(A, first), self.long(B, second)];
        }
        tags
    }

    /// The tag of a message of this kind.
    #[inline(always)]
    pub fn tag(&self, kind: u8, message: &[u8]) -> u64 {
        if message.len() > PIECE {
            return self.long(kind, message);
        }
        self.finish(padded(kind, message))
    }

    /// The tag by the last block.
    #[inline(always)]
    fn finish(&self, mut block: [u64; 2]) -> u64 {
        self.last.encrypt_with_backend(Finish(&mut block));
        let [tag, _] = block;
        tag
    }

    #[inline(never)]
    fn long(&self, kind: u8, message: &[u8]) -> u64 {
        let pieces = message.len().div_ceil(PIECE).saturating_sub(1);
        let parts = message.split_at_checked(pieces * PIECE);
        let (pieces, last) = parts.unwrap_or((&[], message));
        let mut sum = [0; 2];
        self.pieces.encrypt_with_backend(AddUp(pieces, &mut sum));
        let [low, high] = padded(kind, last);
        let [sum_low, sum_high] = sum;
        self.finish([low ^ sum_low, high ^ sum_high])
    }
}

/// Encrypts two messages that are their own last pieces. They become blocks in here, in
/// registers: a block that came by memory, in halves, would cost more than its encryption.
struct Short<'a, const A: u8, const B: u8>(&'a [u8], &'a [u8], &'a mut [u64; 2]);

impl<const A: u8, const B: u8> BlockSizeUser for Short<'_, A, B> {
    type BlockSize = U16;
}

impl<const A: u8, const B: u8> BlockCipherEncClosure for Short<'_, A, B> {
    #[inline(always)]
    fn call<C: BlockCipherEncBackend<BlockSize = U16>>(self, cipher: &C) {
        let Short(first, second, tags) = self;
        let blocks = [padded(A, first), padded(B, second)];
        *tags = blocks.map(|words| {
            let [tag, _] = encrypt(cipher, words);
            tag
        });
    }
}

/// Encrypts the last block of a message in its place.
struct Finish<'a>(&'a mut [u64; 2]);

impl BlockSizeUser for Finish<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Finish<'_> {
    #[inline(always)]
    fn call<C: BlockCipherEncBackend<BlockSize = U16>>(self, cipher: &C) {
        let Finish(block) = self;
        *block = encrypt(cipher, *block);
    }
}

/// Encrypts whole pieces and adds them up.
struct AddUp<'a>(&'a [u8], &'a mut [u64; 2]);

impl BlockSizeUser for AddUp<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for AddUp<'_> {
    #[inline(always)]
    fn call<C: BlockCipherEncBackend<BlockSize = U16>>(self, cipher: &C) {
        let AddUp(pieces, [sum_low, sum_high]) = self;
        for (number, piece) in (1u64..).zip(pieces.chunks_exact(PIECE)) {
            let (Some(first), Some(last)) = (piece.first_chunk(), piece.last_chunk()) else {
                continue;
            };
            // The last two bytes are the number's; the last eight of the piece overlap.
            let (low, high) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last) >> 16);
            let [low, high] = encrypt(cipher, [low, high | number << 48]);
            *sum_low ^= low;
            *sum_high ^= high;
        }
    }
}

/// The last piece of a message as a block: a bit behind it, then zeros, then its kind.
/// In as few reads as may be, which overlap.
#[inline(always)]
fn padded(kind: u8, piece: &[u8]) -> [u64; 2] {
    let (bits, kind) = (piece.len() as u32 * 8, u64::from(kind) << 56);
    if let (Some(first), Some(last)) = (piece.first_chunk(), piece.last_chunk()) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        // By 64 bits in all where there are just 8 bytes.
        let rest = (last >> 8).wrapping_shr(120 - bits);
        return [first, rest | 0x80_u64.wrapping_shl(bits - 64) | kind];
    }
    let end = 0x80_u64.wrapping_shl(bits);
    if let (Some(first), Some(last)) = (piece.first_chunk(), piece.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        let word = u64::from(first) | u64::from(last).wrapping_shl(bits - 32);
        return [word | end, kind];
    }
    let bytes = piece.iter().rev();
    let word = bytes.fold(0, |word, &byte| word << 8 | u64::from(byte));
    [word | end, kind]
}

#[inline(always)]
fn encrypt<C: BlockCipherEncBackend<BlockSize = U16>>(cipher: &C, words: [u64; 2]) -> [u64; 2] {
    let mut block = block(words);
    cipher.encrypt_block((&mut block).into());
    let block = u128::from_le_bytes(block.into());
    [block as u64, (block >> 64) as u64]
}

#[inline(always)]
fn block([low, high]: [u64; 2]) -> Block {
    (u128::from(low) | u128::from(high) << 64)
        .to_le_bytes()
        .into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn mac() -> LightMac {
        LightMac::new([[1, 2], [3, 4]])
    }

    fn tag(message: &[u8]) -> u64 {
        let [tag, _] = mac().tags::<7, 8>(message, b"");
        tag
    }

    /// Straight from the paper, byte by byte.
    fn by_the_paper(kind: u8, message: &[u8]) -> u64 {
        let LightMac { pieces, last } = mac();
        let mut sum = [0u8; 16];
        let mut add = |block: [u8; 16]| {
            sum.iter_mut()
                .zip(block)
                .for_each(|(sum, byte)| *sum ^= byte)
        };
        let mut rest = message;
        for number in 1u16.. {
            let mut block = [0; 16];
            if rest.len() <= PIECE {
                block[..rest.len()].copy_from_slice(rest);
                block[rest.len()] = 0x80;
                block[15] = kind;
                add(block);
                break;
            }
            block[..PIECE].copy_from_slice(&rest[..PIECE]);
            block[PIECE..].copy_from_slice(&number.to_le_bytes());
            let mut block: Block = block.into();
            pieces.encrypt_block(&mut block);
            add(block.into());
            rest = &rest[PIECE..];
        }
        let mut block: Block = sum.into();
        last.encrypt_block(&mut block);
        u64::from_le_bytes(*block.first_chunk().unwrap())
    }

    #[test]
    fn a_message_of_any_length_has_the_tag_of_the_paper() {
        let message: Vec<u8> = (0..u32::from(u16::MAX)).map(|n| (n * 37) as u8).collect();
        let lengths = (0..100).chain([1000, 65_534, 65_535]);
        assert!(message.len() <= LONGEST);
        for length in lengths {
            let message = &message[..length];
            assert_eq!(tag(message), by_the_paper(7, message), "{length} bytes");
        }
    }

    /// Made by `openssl enc -aes-128-ecb -nopad` of the padded blocks.
    #[test]
    fn the_cipher_is_aes() {
        let tags = mac().tags::<0, 1>(b"alice", b"fourteen bytes");
        assert_eq!(tags, [0xa0d6_6e6a_72c0_7a24, 0xe644_21d9_b59e_07e4]);
    }

    #[test]
    fn names_that_pad_alike_and_kinds_differ() {
        let names: [&[u8]; 8] = [
            b"",
            b"\x80",
            b"\0",
            b"\0\0",
            b"abc",
            b"abc\x80",
            b"abc\x80\0",
            b"thirteen byte\x80",
        ];
        let tags = names.map(|name| mac().tags::<0, 1>(name, name));
        let tags: BTreeSet<u64> = tags.into_iter().flatten().collect();
        assert_eq!(tags.len(), 16);
    }

    #[test]
    fn a_long_name_beside_a_short_one_is_the_same() {
        let [short, long]: [&[u8]; 2] = [b"alice", b"/a/path/of/more/than/14/bytes"];
        let [first, second] = mac().tags::<1, 7>(short, long);
        assert_eq!(first, by_the_paper(1, short));
        assert_eq!(second, by_the_paper(7, long));
    }
}
