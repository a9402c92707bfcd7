import CRDTCore
import DocStore
import ScopePolicy
import SyncProtocol
import TestKit
import Testing

/// A conversation: what each end says, link by link, and what the receiver then holds.
struct GoldenSession: Sendable, CustomTestStringConvertible {
  let name: String
  /// Frames of the sender without which the conversation is not the one that was meant.
  var types: Set<FrameType> = []
  /// Frames of the receiver without which it is not.
  var replies: Set<FrameType> = []
  /// Frames of either end with which it is not.
  var foreign: Set<FrameType> = []
  /// The tuning of both ends.
  var tune: @Sendable (inout SyncTuning) -> Void = { _ in }
  /// Bytes that arrive at once; few make a slow link.
  var pieceBytes = 1 << 20
  /// Frames of the sender after which the first link breaks.
  var framesUntilCut: Int?
  /// Whether another peer writes what the sender then tells of.
  var isForwarded = false
  /// A statement that the receiver has the sender run, and how many rows that gives.
  var question: (text: String, rows: Int)?
  /// What the receiver keeps to itself.
  var kept: [TextKey: SyncScope] = [:]
  let fill: @Sendable (TestPeer) throws -> Void
  var change: @Sendable (TestPeer) throws -> Void = { _ in }
  /// Whether the change is made while the first link stands, and there is no other.
  var isLive = true

  var testDescription: String { name }

  static let all = [
    // All is compared and sent, then a transaction of alike changes follows, and a statement is run.
    GoldenSession(
      name: "live", types: [.answer, .fragment, .mark, .rows, .answered],
      question: ("SELECT * FROM things WHERE n = 1", 20),
      fill: { try Self.put(0..<60, n: 0, at: $0) },
      change: { try Self.set(0..<20, n: 1, at: $0) }),
    // The receiver goes on from its cursor.
    GoldenSession(
      name: "resumed", types: [.mark, .resumed, .offer], replies: [.resume, .want], foreign: [.announce],
      fill: { try Self.put(0..<20, n: 0, at: $0) },
      change: {
        try Self.set(3..<5, n: 1, at: $0)
        try Self.put(20..<22, n: 1, at: $0)
        try $0.remove("d7")
      }, isLive: false),
    // What comes from another peer is announced.
    GoldenSession(
      name: "forwarded", types: [.announce], replies: [.want], isForwarded: true,
      fill: { try Self.put(0..<4, n: 0, at: $0) },
      change: { try Self.put(2..<9, n: 1, at: $0) }),
    // A group in parts comes over a slow link, which breaks.
    GoldenSession(
      name: "broken", types: [.chunk, .reuse], replies: [.staged],
      tune: {
        $0.transfers.splitBytes = 20_000
        $0.transfers.slowSpan = .zero
        $0.transfers.stagingSpan = .zero
      }, pieceBytes: 400, framesUntilCut: 19,
      fill: { peer in
        try peer.write { transaction in
          for number in 0..<16 {
            let text = DensePackingTests.prose(4_000, seed: UInt64(number))
            try transaction.upsert(["text": .string(text)], id: try DocumentID("d\(number)"), into: "things")
          }
        }
      }, isLive: false),
    // The receiver may not tell what it holds.
    GoldenSession(
      name: "hidden", types: [.answer], kept: ["things": .localPeerOnly],
      fill: { try Self.put(0..<40, n: 0, at: $0) },
      change: { try Self.put(5..<6, n: 1, at: $0) }),
    // What was withheld may flow.
    GoldenSession(
      name: "renewed", types: [.renew], replies: [.renewed],
      fill: {
        try $0.scopes.set(["things": .localPeerOnly])
        try Self.put(0..<20, n: 0, at: $0)
      },
      change: {
        try $0.scopes.set([:] as [TextKey: SyncScope])
        try Self.put(20..<21, n: 1, at: $0)
      }),
  ]

  private static func put(_ numbers: Range<Int>, n: Int64, at peer: TestPeer) throws {
    try peer.write { transaction in
      for number in numbers {
        try transaction.upsert(
          ["n": .int(n), "name": .string("number \(number)")], id: try DocumentID("d\(number)"),
          into: "things")
      }
    }
  }

  private static func set(_ numbers: Range<Int>, n: Int64, at peer: TestPeer) throws {
    try peer.write { transaction in
      for number in numbers {
        try transaction.update(try DocumentID("d\(number)"), in: "things", [.set(["n"], .int(n))])
      }
    }
  }

  func configure(_ configuration: inout SessionConfiguration) {
    if pieceBytes < 1 << 10 { configuration.initialWindowBytes = 2 << 10 }
    tune(&configuration.tuning)
  }

  /// What the receiver holds in the end.
  func result() throws -> [String: [TextKey: Value]] {
    let network = TestNetwork()
    let peer = try network.addPeer("alone")
    try fill(peer)
    try change(peer)
    return try peer.documents()
  }

  /// What an end says on each link.
  struct Recording {
    var sender: [[UInt8]] = []
    var receiver: [[UInt8]] = []
  }

  /// Holds the conversation, and takes down what of either end's arrives on each link.
  func record() throws -> Recording {
    let network = TestNetwork(seed: 1)
    network.maximumPiece = pieceBytes
    network.configure = { configure(&$0) }
    let sender = try network.addPeer("sender")
    let author = isForwarded ? try network.addPeer("author") : sender
    let receiver = try network.addPeer("receiver")
    try fill(author)
    if isForwarded {
      try sender.subscribe("SELECT * FROM things")
      try network.connect(author, sender)
      try network.settle()
    }
    try receiver.subscribe("SELECT * FROM things")
    try receiver.scopes.set(kept)
    var links = Recording()
    var frames = 0
    var (end, other) = try network.connect(sender, receiver)
    network.onSend = { from, bytes in
      if from === end {
        links.sender[links.sender.count - 1] += bytes
        frames += 1
      } else if from === other {
        links.receiver[links.receiver.count - 1] += bytes
      }
    }
    // What was said before anybody listened.
    links.sender.append(end.outbound)
    links.receiver.append(other.outbound)
    if let framesUntilCut {
      while frames < framesUntilCut, try network.step() {}
    } else {
      try network.settle()
    }
    if isLive {
      try change(author)
      try network.settle()
      if let question, let asker = end.other {
        try asker.perform(asker.session.ask(1, QueryQuestion(question.text), now: network.now))
        try network.settle()
      }
      return links
    }
    links.sender[0].removeLast(end.outbound.count)
    links.receiver[0].removeLast(other.outbound.count)
    network.cut(end)
    try change(author)
    (end, other) = try network.connect(sender, receiver)
    links.sender.append(end.outbound)
    links.receiver.append(other.outbound)
    try network.settle()
    return links
  }
}
