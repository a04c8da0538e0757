"""The bridge's handshake and seals: without the secret nothing is proved, and no record but the next is taken."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.capture import seal
from pysync.capture.handshake import VERSION, Keys, SidecarSide, Unproven, check
from pysync.capture.seal import BrokenSeal, SealedInput, Sealer
from tests.support.listener_side import ListenerSide

SECRET = b"secret-of-both"


def hands() -> tuple[Keys, Keys]:
    """The keys of both sides after a handshake."""
    listener, sidecar = ListenerSide(SECRET), SidecarSide(SECRET)
    answer, theirs = sidecar.answer(listener.hello())
    ours = listener.keys(answer)
    check(theirs.proof_of_listener(), ours.proof_of_listener())
    return ours, theirs


def test_two_that_know_the_secret_have_the_same_keys_and_another_time_others() -> None:
    ours, theirs = hands()
    assert ours == theirs
    again, _ = hands()
    keys = {ours.from_listener(), ours.from_sidecar(), again.from_listener(), again.from_sidecar()}
    assert len(keys) == 4


def test_the_secret_is_in_nothing_that_is_said() -> None:
    listener, sidecar = ListenerSide(SECRET), SidecarSide(SECRET)
    answer, keys = sidecar.answer(listener.hello())
    words = f"{listener.hello()} {answer} {keys.proof_of_listener()}"
    assert SECRET.decode() not in words
    assert SECRET.hex() not in words


def test_a_sidecar_without_the_secret_is_found_out() -> None:
    listener = ListenerSide(SECRET)
    answer, _ = SidecarSide(b"another").answer(listener.hello())
    with pytest.raises(Unproven):
        listener.keys(answer)


def test_a_listener_without_the_secret_is_found_out() -> None:
    listener = ListenerSide(b"another")
    answer, keys = SidecarSide(SECRET).answer(listener.hello())
    guess = Keys(b"another", listener.nonce, answer.split()[1])
    with pytest.raises(Unproven):
        check(keys.proof_of_listener(), guess.proof_of_listener())


def test_what_one_side_proves_is_no_proof_of_the_other() -> None:
    """Else a squatter had the listener make its own proof."""
    ours, _ = hands()
    assert ours.proof_of_listener() != ours.proof_of_sidecar()
    with pytest.raises(Unproven):
        check(ours.proof_of_listener(), ours.proof_of_sidecar())


def test_the_proof_of_another_time_is_no_proof() -> None:
    listener = ListenerSide(SECRET)
    heard, _ = SidecarSide(SECRET).answer(listener.hello())
    with pytest.raises(Unproven):
        ListenerSide(SECRET).keys(heard)


@pytest.mark.parametrize(
    "hello",
    ["", "A", VERSION, f"{VERSION} ", f"{VERSION} {'0' * 63}", f"{VERSION} {'g' * 64}", f"{VERSION} {'0' * 64} x"],
)
def test_a_greeting_that_is_none_gets_no_answer(hello: str) -> None:
    with pytest.raises(Unproven):
        SidecarSide(SECRET).answer(hello)


@pytest.mark.parametrize("proof", ["", "0" * 64, "é" * 64, "\udcff"])
def test_any_text_may_be_given_as_a_proof(proof: str) -> None:
    with pytest.raises(Unproven):
        check("f" * 64, proof)


# --- seals


KEY = b"k" * 32


def opened(records: bytes) -> bytes:
    return io.BufferedReader(SealedInput(io.BytesIO(records), KEY)).read()


@given(parts=st.lists(st.binary(max_size=200), max_size=8), longest=st.integers(1, 100))
def test_what_is_sealed_comes_out_whatever_its_pieces(parts: list[bytes], longest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seal, "LONGEST", longest)
        sealer = Sealer(KEY)
        assert opened(b"".join(sealer.seal(part) for part in parts)) == b"".join(parts)


@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_one_flipped_bit_anywhere_is_noticed(at: int, bit: int) -> None:
    sealer = Sealer(KEY)
    records = bytearray(sealer.seal(b"first") + sealer.seal(b"second"))
    records[at % len(records)] ^= 1 << bit
    with pytest.raises(BrokenSeal):
        opened(bytes(records))


def _three() -> list[bytes]:
    sealer = Sealer(KEY)
    return [sealer.seal(text) for text in (b"one", b"two", b"three")]


@pytest.mark.parametrize("order", [(0, 0), (0, 1, 1), (1,), (0, 2), (1, 0), (0, 2, 1)])
def test_a_record_that_is_repeated_left_out_or_put_elsewhere_is_noticed(order: tuple[int, ...]) -> None:
    three = _three()
    with pytest.raises(BrokenSeal):
        opened(b"".join(three[number] for number in order))


def test_a_record_of_the_other_direction_or_another_connection_is_noticed() -> None:
    ours, _ = hands()
    again, _ = hands()
    for key in (ours.from_sidecar(), again.from_listener(), SECRET):
        stream = SealedInput(io.BytesIO(Sealer(key).seal(b"x")), ours.from_listener())
        with pytest.raises(BrokenSeal):
            stream.read(1)


@pytest.mark.parametrize("cut", [1, 35, 36, 38])
def test_a_record_that_is_cut_off_is_not_believed(cut: int) -> None:
    with pytest.raises(BrokenSeal):
        opened(_three()[0][:cut])


@pytest.mark.parametrize("length", [0, seal.LONGEST + 1, 2**32 - 1])
def test_a_length_that_no_record_has_asks_for_no_memory(length: int) -> None:
    with pytest.raises(BrokenSeal):
        opened(length.to_bytes(4, "big") + bytes(32) + b"x" * 100)
