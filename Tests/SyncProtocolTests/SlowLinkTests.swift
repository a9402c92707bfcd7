import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// A link of 20 KB a second, simulated in steps of ten milliseconds.
@Suite struct SlowLinkTests {
  private final class Link {
    let network = TestNetwork()
    let sender: TestPeer
    let receiver: TestPeer
    let ends: [Endpoint]
    private(set) var time: Duration = .zero
    private var isIn: [[(at: Duration, bytes: [UInt8])]] = [[], []]
    let bytesPerStep: Int
    let delay: Duration

    init(bytesPerStep: Int = 200, delay: Duration = .milliseconds(50)) throws {
      sender = try network.addPeer("sender")
      receiver = try network.addPeer("receiver")
      self.bytesPerStep = bytesPerStep
      self.delay = delay
      try receiver.subscribe("SELECT * FROM things")
      let (a, b) = try network.connect(sender, receiver)
      ends = [a, b]
    }

    /// Lets time pass until `isDone`, or a minute has.
    func run(for limit: Duration = .seconds(60), until isDone: () throws -> Bool) throws {
      let end = time + limit
      while try !isDone(), time < end {
        time += .milliseconds(10)
        for (index, sending) in ends.enumerated() {
          let count = min(bytesPerStep, sending.outbound.count)
          isIn[index].append((time + delay, Array(sending.outbound.prefix(count))))
          sending.outbound.removeFirst(count)
          while let first = isIn[index].first, first.at <= time {
            isIn[index].removeFirst()
            if first.bytes.isEmpty { continue }
            let taking = ends[1 - index]
            try taking.perform(taking.session.receive(first.bytes, now: time))
          }
        }
        try work()
      }
    }

    /// Everything that takes no time.
    private func work() throws {
      var isBusy = true
      while isBusy {
        isBusy = false
        for peer in network.peers { try peer.distribute() }
        for end in ends {
          while !end.commits.isEmpty {
            try end.perform(end.session.committed(end.commits.removeFirst(), now: time))
            isBusy = true
          }
          while !end.applies.isEmpty {
            let batch = end.applies.removeFirst()
            let result = Result {
              try end.peer.store.write(origin: .session(end.session.id)) { try batch.apply(in: $0) }.0
            }
            try end.perform(end.session.applied(batch.ticket, result, now: time))
            isBusy = true
          }
          if end.isAwake {
            end.isAwake = false
            try end.perform(end.session.tick(now: time))
            isBusy = true
          }
        }
      }
    }
  }

  private static func noise(_ count: Int) -> Value {
    var random = SeededGenerator(seed: 5)
    return .bytes((0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) })
  }

  @Test func `a large document fills the link, and a small change waits about half a second at most`() throws
  {
    let link = try Link()
    try link.run(for: .seconds(2)) { link.ends[1].caughtUp != nil }
    try link.sender.put("large", ["bytes": Self.noise(249_000)])
    let start = link.time
    var slowest = Duration.zero
    for index in 0..<8 {
      try link.run(for: .seconds(1)) { false }
      try link.sender.put("small\(index)", ["n": .int(1)])
      let written = link.time
      try link.run { try link.receiver.document("small\(index)") != nil }
      // The first ones meet the window that a session begins with.
      if index >= 2 { slowest = max(slowest, link.time - written) }
    }
    try link.run { try link.receiver.document("large") != nil }
    #expect(slowest < .milliseconds(700), "\(slowest)")
    // 249,000 bytes at 20 KB a second take 12.5 s.
    #expect(link.time - start < .milliseconds(13_500), "\(link.time - start)")
  }

  @Test func `the window opens for a fast link with a long delay`() throws {
    // 20 MB a second, 100 ms there and 100 ms back: 4 MB are on their way at full speed.
    let link = try Link(bytesPerStep: 200_000, delay: .milliseconds(100))
    try link.sender.write { transaction in
      for index in 0..<16 {
        try transaction.upsert(
          ["bytes": Self.noise(1_000_000)], id: try DocumentID("d\(index)"), into: "things")
      }
    }
    let start = link.time
    try link.run { try link.receiver.documents().count == 16 }
    // At full speed 0.8 s; the first round trips are spent on finding out.
    #expect(link.time - start < .seconds(5), "\(link.time - start)")
  }
}
