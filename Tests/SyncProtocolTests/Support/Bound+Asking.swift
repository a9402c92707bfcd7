import CRDTCore
import Testing

@testable import SyncProtocol

/// Bounds of what a peer says of itself, subscribes to and asks for.
extension Bound {
  static let asking: [Bound] = [
    Bound("the name of a peer", greet: { $0.peerName = letters(SyncLimits.nameBytes + $1) }) {
      $0.session.peer?.name == letters(SyncLimits.nameBytes)
    },
    Bound(
      "the name of an application", configure: { $0.appID = letters(SyncLimits.nameBytes) },
      greet: { $0.appID = letters(SyncLimits.nameBytes + $1) }
    ) { $0.session.peer != nil },
    Bound("subscriptions in a frame") { raw, more in
      let query = try encoded("SELECT * FROM things")
      raw.sendInterest(Array(repeating: query, count: Limits.subscriptionsPerPeer + more))
    } isTaken: {
      $0.answersQuestions()
    },
    Bound("subscriptions in several frames") { raw, more in
      let query = try encoded("SELECT * FROM things")
      raw.sendInterest(Array(repeating: query, count: 200), isLast: false)
      raw.sendInterest(
        Array(repeating: query, count: Limits.subscriptionsPerPeer - 200 + more), isFirst: false)
    } isTaken: {
      $0.answersQuestions()
    },
    Bound("the bytes of a subscription") { raw, more in
      raw.sendInterest([try encoded("SELECT * FROM things", byteCount: SyncLimits.subscriptionBytes + more)])
    } isTaken: {
      $0.answersQuestions()
    },
    Bound("the bytes of all subscriptions") { raw, more in
      // With what tells their lengths.
      let count = SyncLimits.interestBytes / (SyncLimits.subscriptionBytes + 3)
      let query = try encoded("SELECT * FROM things", byteCount: SyncLimits.subscriptionBytes)
      for index in 0..<count { raw.sendInterest([query], isFirst: index == 0, isLast: false) }
      let rest = SyncLimits.interestBytes - count * (SyncLimits.subscriptionBytes + 3) - 3
      raw.sendInterest([try encoded("SELECT * FROM things", byteCount: rest + more)], isFirst: false)
    } isTaken: {
      $0.answersQuestions()
    },
    Bound("questions in a frame") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      raw.receive(frames: questions(SyncLimits.questions + more))
    } isTaken: {
      !$0.sent(.answer).isEmpty
    },
    Bound("questions in several frames") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      raw.receive(frames: questions(SyncLimits.questions - 100) + questions(100 + more))
    } isTaken: {
      !$0.sent(.answer).isEmpty
    },
    Bound("the bounds of a range") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      raw.send(.compare) { out in
        out.writeVarint(1)
        out.writeVarint(1)
        let from = [UInt8](repeating: 3, count: Limits.documentIDBytes + more)
        RangeQuestion.send(1, KeyRange(collection: "things", from: from), isSecret: true).encode(to: &out)
      }
    } isTaken: {
      !$0.sent(.answer).isEmpty
    },
    Bound("documents that are wanted together") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      var left = SyncLimits.transactionDocuments + more
      while left > 0 {
        raw.sendWants(min(left, 16_384), flags: 5)
        left -= 16_384
      }
    } isTaken: {
      $0.isAlive()
    },
    Bound("what is wanted, with its vectors") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      raw.receive(frames: questions(1))
      try fillWants(of: raw, and: more > 0 ? frame(try wants(elements: more - 1)) : [])
    } isTaken: {
      $0.isAlive()
    },
    Bound("ranges of which all is wanted, beside documents") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      raw.receive(frames: questions(1))
      let everything = FrameCodec.frame(.compare) { out in
        out.writeVarint(1)
        out.writeVarint(1)
        RangeQuestion.everything(2, KeyRange(collection: "things")).encode(to: &out)
      }
      try fillWants(of: raw, and: more > 0 ? everything : [])
    } isTaken: {
      $0.isAlive()
    },
    Bound("what is wanted together, with its vectors") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      let each = 2_048 * 32
      var list = try wants(elements: each / 32 - 5)
      (list.reconciliation, list.isTransaction, list.goesOn) = (0, true, true)
      for _ in 1..<SyncLimits.wantedBytes / each { try raw.session.pusher.receive(list) }
      raw.receive(frames: frame(list))
      #expect(raw.closed == nil)
      guard more > 0 else { return }
      list.wants = try wants(elements: more - 1).wants
      raw.receive(frames: frame(list))
    } isTaken: {
      $0.isAlive()
    },
    Bound("staged transfers") { raw, more in
      raw.send(.staged) { out in
        out.writeVarint(SyncLimits.stagedTransfers + more)
        for _ in 0..<SyncLimits.stagedTransfers + more {
          out.write(12)
          out.writeVarint(0)
          out.writeVarint(0)
          out.write([UInt8](repeating: 0, count: 6))
        }
      }
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a statement") { raw, more in
      raw.sendStatement(textBytes: SyncLimits.statementBytes + more, argumentBytes: 0)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a statement's arguments") { raw, more in
      raw.sendStatement(textBytes: 10, argumentBytes: SyncLimits.statementArgumentBytes + more)
    } isTaken: {
      $0.isAlive()
    },
  ]
}
