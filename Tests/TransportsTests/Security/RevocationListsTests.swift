#if TLS
  import CRDTCore
  import Foundation
  import TestKit
  import Testing

  @testable import Links

  /// The exchange of revocation lists between two peers, message by message.
  @Suite(.timeLimit(.minutes(15))) struct RevocationListsTests {
    private let rig: RevocationRig

    init() throws { rig = try RevocationRig() }

    private func failure(_ body: () throws -> Any) -> LinkError? {
      #expect(throws: LinkError.self) { _ = try body() }
    }

    private func message(_ bytes: [UInt8]?) throws -> RevocationMessage {
      let bytes = try #require(bytes)
      let message = try RevocationMessage.read(bytes)
      return try #require(message)
    }

    // MARK: - Honest peers

    @Test func `peers have the same lists after they have met, whatever each had before`() throws {
      let (left, right) = (try rig.lists(), try rig.lists())
      let first = try rig.list(rig.entries(0..<2_500))
      _ = try left.add(first)
      _ = try right.add(rig.list(rig.entries(5_000..<5_010), by: rig.intermediate))
      try RevocationPair(left, right).meet()
      for lists in [left, right] {
        for number in [0, 999, 1_000, 2_499, 5_009] {
          expect(lists.contains(try RevocationRig.key(number)), "\(number)")
        }
        expectEqual(lists.heads, left.heads)
      }
      // Who was away gets only what is new: one more segment, and the rest of the last one.
      _ = try left.add(rig.list(rig.entries(2_500..<3_200), after: first))
      let again = RevocationPair(left, right)
      try again.meet()
      #expect(right.contains(try RevocationRig.key(3_199)))
      let byteCount = again.messages.reduce(0) { $0 + $1.count }
      #expect(byteCount < 700 * 45 + 2_000, "\(byteCount)")
      // Those who have the same say it once each, and in few bytes.
      let equal = RevocationPair(left, right)
      try equal.meet()
      #expect(equal.messages.count == 2)
      #expect(equal.messages.allSatisfy { $0.count <= 2 + 2 * 17 }, "\(equal.messages.map(\.count))")
    }

    @Test func `two lists of one number spread, and hold both`() throws {
      let (left, right) = (try rig.lists(), try rig.lists())
      _ = try left.add(rig.list(rig.entries(0..<5)))
      _ = try right.add(rig.list(rig.entries(10..<15)))
      try RevocationPair(left, right).meet()
      for lists in [left, right] {
        for number in [0, 4, 10, 14] { expect(lists.contains(try RevocationRig.key(number)), "\(number)") }
      }
      #expect(left.heads == right.heads)
      let again = RevocationPair(left, right)
      try again.meet()
      #expect(again.messages.count == 2)
    }

    @Test func `a segment that is no continuation of the own one is asked for whole`() throws {
      let (left, right) = (try rig.lists(), try rig.lists())
      _ = try left.add(rig.list(rig.entries(0..<200)))
      let other = try rig.list(rig.entries(1_000..<1_001))
      _ = try right.add(rig.list(rig.entries(2_000..<2_300), after: other))
      try RevocationPair(left, right).meet()
      #expect(left.contains(try RevocationRig.key(2_299)))
      #expect(left.contains(try RevocationRig.key(199)))
      #expect(left.heads == right.heads)
    }

    @Test func `several peers bring parts of one list, and one that goes away is replaced`() throws {
      let (first, second, asking) = (try rig.lists(), try rig.lists(), try rig.lists())
      let list = try rig.list(rig.entries(0..<3_000))
      for lists in [first, second] { _ = try lists.add(list) }
      // The first peer answers until the head is there, and then no more.
      var request = try asking.receive(try #require(first.heads), in: 1, now: .zero).replies[0]
      var answer = try first.receive(request, in: 9, now: .zero).replies[0]
      request = try asking.receive(answer, in: 1, now: .zero).replies[0]
      guard case .wantSegment(_, _, 0, 0) = try message(request) else {
        Issue.record("Another request")
        return
      }
      asking.end(1)
      // With the second one it goes on with the segments.
      request = try asking.receive(try #require(second.heads), in: 2, now: .zero).replies[0]
      var pieces = 0
      while true {
        answer = try second.receive(request, in: 9, now: .zero).replies[0]
        pieces += 1
        guard let next = try asking.receive(answer, in: 2, now: .zero).replies.first else { break }
        request = next
      }
      #expect(pieces >= 3)
      #expect(asking.contains(try RevocationRig.key(2_999)))
    }

    @Test func `a head that is replaced while its segments are under way comes next`() throws {
      let (having, asking) = (try rig.lists(), try rig.lists())
      let list = try rig.list(rig.entries(0..<1_500))
      _ = try having.add(list)
      var request = try asking.receive(try #require(having.heads), in: 1, now: .zero).replies[0]
      let head = try having.receive(request, in: 1, now: .zero).replies[0]
      request = try asking.receive(head, in: 1, now: .zero).replies[0]
      _ = try having.add(rig.list(rig.entries(1_500..<1_600), after: list))
      let gone = try having.receive(request, in: 1, now: .zero).replies[0]
      guard case .gone = try message(gone) else {
        Issue.record("Another answer")
        return
      }
      #expect(try asking.receive(gone, in: 1, now: .zero).replies.isEmpty)
      var next = try asking.receive(try #require(having.heads), in: 1, now: .zero).replies.first
      while let request = next {
        let answer = try having.receive(request, in: 1, now: .zero).replies[0]
        next = try asking.receive(answer, in: 1, now: .zero).replies.first
      }
      #expect(asking.heads == having.heads)
    }

    @Test func `an equal head, and a list that has arrived, confirm what is held`() throws {
      let (left, right) = (try rig.lists(), try rig.lists())
      let list = try rig.list([])
      _ = try left.add(list)
      let heads = try #require(left.heads)
      func isConfirmed(in session: UInt64) throws -> Bool {
        try right.receive(heads, in: session, now: .zero).isConfirmed
      }
      #expect(try isConfirmed(in: 1) == false)
      _ = try right.add(list)
      #expect(try isConfirmed(in: 2))
      _ = try right.add(rig.list(rig.entries(0..<1), after: list))
      #expect(try isConfirmed(in: 3) == false)
    }

    @Test func `the head of one list does not confirm another one`() throws {
      let (left, right) = (try rig.lists(), try rig.lists())
      let (first, second) = (try rig.list([]), try rig.list(rig.entries(0..<3), by: rig.intermediate))
      _ = try left.add(first)
      for list in [first, second] { _ = try right.add(list) }
      #expect(try right.receive(try #require(left.heads), in: 1, now: .zero).isConfirmed == false)
      _ = try left.add(second)
      #expect(try right.receive(try #require(left.heads), in: 1, now: .zero).isConfirmed)
    }

    @Test func `a serial number is the same with zeros in front`() {
      #expect([UInt8](serialNumber: "000A0b") == [10, 11] && [UInt8](serialNumber: "0a0b") == [10, 11])
      #expect([UInt8](serialNumber: "00") == [0] && [UInt8](serialNumber: "") == nil)
    }

    // MARK: - Hostile peers

    private func token(_ message: RevocationMessage) -> UInt64 {
      switch message {
      case .wantHead(let token, _), .wantSegment(let token, _, _, _): token
      default: 0
      }
    }

    /// Names a head to a peer, and answers its question.
    private func offer(
      _ head: RevocationHead, bytes: [UInt8]? = nil, to lists: RevocationLists, in session: UInt64 = 1
    ) throws -> RevocationLists.Change {
      let named = RevocationMessage.heads([RevocationMessage.HeadName(head)]).bytes
      let change = try lists.receive(named, in: session, now: .zero)
      guard case .wantHead? = try change.replies.first.map({ try message($0) }) else { return change }
      return try lists.receive(
        RevocationMessage.head(token: 5, bytes ?? head.bytes).bytes, in: session, now: .zero)
    }

    @Test func `a head of another authority is refused before any segment is asked for`() throws {
      let lists = try rig.lists()
      let stranger = try RevocationRig()
      let list = try stranger.list(stranger.entries(0..<1_500))
      let change = try offer(list.head, to: lists)
      #expect(change.replies.isEmpty && change.changed.isEmpty)
      #expect(change.refused?.error.code == .untrusted)
      #expect(lists.status.refused.map(\.issuer) == [stranger.authority.hash])
      #expect(lists.heads == nil)
      // It is not asked for again in this session, and others go on.
      #expect(try offer(list.head, to: lists).replies.isEmpty)
      let right = try rig.list(rig.entries(0..<1))
      #expect(try offer(right.head, to: lists).replies.count == 1)
    }

    @Test func `a peer that names wrong heads for ever is not asked any more`() throws {
      let lists = try rig.lists()
      let stranger = try RevocationRig()
      var list = try stranger.list([])
      var asked = 0
      for number in 0..<40 {
        list = try stranger.list(stranger.entries(number..<number + 1), after: list)
        if try offer(list.head, to: lists).refused != nil { asked += 1 }
      }
      #expect(asked == 16)
      // Another peer is asked.
      #expect(try offer(rig.list([]).head, to: lists, in: 2).changed.count == 1)
    }

    @Test func `a list beyond the limit is refused by its head, and said`() throws {
      let lists = try rig.lists()
      _ = try lists.add(rig.list(rig.entries(0..<100_000)))
      let list = try rig.list(rig.entries(0..<1), by: rig.intermediate)
      let change = try offer(list.head, to: lists)
      #expect(change.replies.isEmpty && change.changed.isEmpty)
      #expect(change.refused?.error.code == .limit)
      #expect(lists.status.refused.map(\.error.code) == [.limit])
      #expect(lists.status.lists.map(\.count) == [100_000])
    }

    @Test func `what was not asked for, and what is another thing, ends the session`() throws {
      let list = try rig.list(rig.entries(0..<1_500))
      let name = RevocationMessage.HeadName(list.head)
      let other = try rig.list(rig.entries(0..<1), by: rig.intermediate)
      /// A peer that has asked for the first segment.
      func asking() throws -> RevocationLists {
        let lists = try rig.lists()
        _ = try offer(list.head, to: lists)
        return lists
      }
      let segment = list.segments[0].bytes
      var changed = segment
      changed[700] ^= 1
      for (message, part) in [
        (.head(token: 1, list.head.bytes), "not asked for"),
        (.piece(token: 1, index: 1, offset: 0, total: 10, [1]), "not asked for"),
        (.piece(token: 1, index: 0, offset: 9, total: 90, [1]), "another part"),
        (.piece(token: 1, index: 0, offset: 0, total: 90, []), "another part"),
        (.piece(token: 1, index: 0, offset: 0, total: 1, [1, 2]), "another part"),
        (.piece(token: 1, index: 0, offset: 0, total: changed.count, changed), "not the one"),
        (.wantHead(token: 77, issuer: name.issuer), "before it has had"),
        (.wantSegment(token: 77, head: name, index: 0, offset: 0), "before it has had"),
      ] as [(RevocationMessage, String)] {
        let lists = try asking()
        let error = failure { try lists.receive(message.bytes, in: 1, now: .zero) }
        expectEqual(error?.code, .malformed)
        expect(error?.message.contains(part) == true, "\(message): \(error?.message ?? "")")
        expect(lists.heads == nil)
      }
      let lists = try rig.lists()
      #expect(
        failure { try offer(list.head, bytes: other.head.bytes, to: lists) }?.message.contains("another")
          == true)
      #expect(try offer(list.head, bytes: [9], to: lists, in: 2).changed.isEmpty)
      #expect(failure { try offer(list.head, bytes: [1], to: lists, in: 3) }?.code == .malformed)
    }

    @Test func `messages that cannot be read end the session, and those of a later release do not`() throws {
      let lists = try rig.lists()
      let name = RevocationMessage.HeadName(try rig.list([]).head)
      let messages: [RevocationMessage] = [
        .heads([name, name]), .wantHead(token: 0, issuer: name.issuer), .head(token: 1, [1, 2, 3]),
        .wantSegment(token: 0, head: name, index: 3, offset: 70_000),
        .piece(token: 1, index: 3, offset: 70_000, total: 90_000, [1, 2]), .gone(token: 3),
      ]
      for message in messages {
        let bytes = message.bytes
        expectEqual(try RevocationMessage.read(bytes), message)
        for count in 0..<bytes.count {
          expectEqual(
            failure { try lists.receive(Array(bytes[..<count]), in: 1, now: .zero) }?.code, .malformed)
        }
      }
      #expect(try lists.receive([77, 1, 2], in: 1, now: .zero).replies.isEmpty)
      #expect(
        failure { try lists.receive([0, 65] + [UInt8](repeating: 0, count: 2_000), in: 1, now: .zero) } != nil
      )
      let long = [UInt8](repeating: 0, count: RevocationMessage.byteLimit + 1)
      #expect(failure { try lists.receive(long, in: 1, now: .zero) }?.code == .malformed)
    }

    @Test func `a peer gets one answer to each request that has the token of the last one`() throws {
      let lists = try rig.lists()
      let list = try rig.list(rig.entries(0..<1_000))
      _ = try lists.add(list)
      let issuer = list.head.issuer.short
      let first = try lists.receive(
        RevocationMessage.wantHead(token: 0, issuer: issuer).bytes, in: 1, now: .zero)
      #expect(first.replies.count == 1)
      guard case .head(let token, _) = try message(first.replies[0]) else {
        Issue.record("No head")
        return
      }
      #expect(token != 0)
      #expect(
        try lists.receive(RevocationMessage.wantHead(token: token, issuer: issuer).bytes, in: 1, now: .zero)
          .replies.count == 1)
      #expect(
        failure {
          try lists.receive(RevocationMessage.wantHead(token: token, issuer: issuer).bytes, in: 1, now: .zero)
        } != nil)
    }

    @Test func `with a shared key nothing is said and nothing is heard`() throws {
      let lists = RevocationLists(revoked: RevokedKeys())
      let secret = (0..<32).map { UInt8($0) &* 11 | 0x81 }
      lists.trust(try PeerCredentials(sharedKey: secret, application: "test", key: DeviceKey()))
      let list = try rig.list(rig.entries(0..<1))
      let named = RevocationMessage.heads([RevocationMessage.HeadName(list.head)]).bytes
      let change = try lists.receive(named, in: 1, now: .zero)
      #expect(change.replies.isEmpty && !change.isConfirmed)
      #expect(lists.heads == nil)
    }
  }
#endif
