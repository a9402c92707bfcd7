import CRDTCore
import SyncProtocol
import TestKit
import Testing

/// The messages by which layers above exchange revocations; the session only carries them.
@Suite struct RevocationExchangeTests {
  @Test func `a message that waits for the opening is sent before all else, and later ones at once`() throws {
    let raw = try RawPeer()
    raw.perform(raw.session.sendRevocations([0, 1, 2], now: raw.now))
    #expect(raw.sent(.revocations).isEmpty)
    try raw.open()
    #expect(raw.sent(.revocations) == [[0, 1, 2]])
    let order = raw.frames.map(\.type)
    let place = try #require(order.firstIndex(of: .revocations))
    #expect(order[..<place] == [.hello])
    raw.perform(raw.session.sendRevocations([9], now: raw.now))
    #expect(raw.sent(.revocations) == [[0, 1, 2], [9]])
  }

  @Test func `what arrives is handed out once, in order, whatever it is`() throws {
    let raw = try RawPeer()
    try raw.open()
    raw.send(.revocations) { $0.write([7, 7]) }
    raw.send(.revocations) { _ in }
    #expect(raw.session.removeRevocations() == [[7, 7], []])
    #expect(raw.session.removeRevocations().isEmpty)
    #expect(raw.closed == nil)
  }

  @Test func `what nobody takes does not pile up, and the session goes on`() throws {
    let raw = try RawPeer()
    try raw.open()
    for number in 0..<1_000 { raw.send(.revocations) { $0.write([UInt8(number & 255)]) } }
    #expect(raw.session.removeRevocations().count == 64)
    for _ in 0..<100 { raw.send(.revocations) { $0.write([UInt8](repeating: 1, count: 100_000)) } }
    #expect(raw.session.removeRevocations().count == 5)
    #expect(raw.closed == nil)
  }

  @Test func `who has nothing to say sends nothing`() throws {
    let raw = try RawPeer()
    try raw.open()
    #expect(raw.sent(.revocations).isEmpty)
  }
}
