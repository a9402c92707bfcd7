import CRDTCore
import DocStore
import SyncProtocol
import TestKit

/// The properties of an emulated line, each way.
struct LineProfile {
  var bytesPerSecond = 20_000
  var frameBytes = 185
  var latency = Duration.milliseconds(30)
  /// The part of all frames that is lost and sent once more.
  var loss = 0.0
  var resendDelay = Duration.milliseconds(60)
  var seed: UInt64 = 1
}

/// One direction of a line: frames arrive in order, so the frames behind a lost one wait for it.
struct Line {
  let profile: LineProfile
  private var random: SeededGenerator
  private var free: Duration = .zero
  private var lastArrival: Duration = .zero
  /// Frames on their way: when the line was done with them, and when they arrive.
  private(set) var frames: [(sent: Duration, arrival: Duration, bytes: [UInt8])] = []

  init(_ profile: LineProfile, direction: UInt64) {
    self.profile = profile
    random = SeededGenerator(seed: profile.seed &* 2 &+ direction)
  }

  mutating func submit(_ bytes: [UInt8], at now: Duration) {
    var offset = 0
    while offset < bytes.count {
      let count = min(profile.frameBytes, bytes.count - offset)
      let onLine = Duration.nanoseconds(Int64(count) * 1_000_000_000 / Int64(profile.bytesPerSecond))
      free = max(free, now) + onLine
      var heard = free
      while profile.loss > 0, Double(random.int(below: 1 << 20)) / Double(1 << 20) < profile.loss {
        free += onLine
        heard = max(heard + profile.resendDelay + onLine, free)
      }
      lastArrival = max(lastArrival, heard + profile.latency)
      frames.append((free, lastArrival, Array(bytes[offset..<offset + count])))
      offset += count
    }
  }

  mutating func take(until now: Duration) -> [[UInt8]] {
    let count = frames.prefix { $0.arrival <= now }.count
    defer { frames.removeFirst(count) }
    return frames[..<count].map(\.bytes)
  }
}

/// Two peers with an emulated line between them, in virtual time.
final class SlowLink {
  let network = TestNetwork()
  let sender: TestPeer
  let receiver: TestPeer
  private(set) var ends: [Endpoint] = []
  var profile: LineProfile
  private var lines: [Line] = []
  /// Bytes that arrived, at the sender and at the receiver, since the link was made.
  private(set) var arrivedBytes = [0, 0]
  /// Frames on the line or lost there when the link was cut.
  private(set) var cutBytes = 0
  /// How long a transaction takes until it is durable.
  var applyTime = Duration.milliseconds(3)
  private var applies: [(end: Int, at: Duration, batch: ApplyBatch)] = []

  var time: Duration {
    get { network.now }
    set { network.now = newValue }
  }

  init(
    _ profile: LineProfile = LineProfile(),
    configure: @escaping (inout SessionConfiguration) -> Void = { _ in }
  )
    throws
  {
    self.profile = profile
    network.configure = configure
    sender = try network.addPeer("sender")
    receiver = try network.addPeer("receiver")
    try receiver.subscribe("SELECT * FROM things")
  }

  func connect() throws {
    lines = [Line(profile, direction: 0), Line(profile, direction: 1)]
    let (a, b) = try network.connect(sender, receiver)
    ends = [a, b]
    try work()
  }

  /// Breaks the link: what has not arrived never does.
  func cut() {
    cutBytes += lines[0].frames.filter { $0.sent <= time }.reduce(0) { $0 + $1.bytes.count }
    network.cut(ends[0])
    applies = []
    ends = []
    profile.seed += 1
  }

  /// Lets time pass until `isDone`, or the limit has.
  func run(for limit: Duration = .seconds(600), until isDone: () throws -> Bool = { false }) throws {
    let end = time + limit
    while try !isDone() {
      let events = lines.compactMap { $0.frames.first?.arrival } + applies.map(\.at)
      guard let next = events.min(), next < end else {
        time = end
        return
      }
      time = max(time, next)
      for index in 0..<2 {
        for bytes in lines[1 - index].take(until: time) {
          arrivedBytes[index] += bytes.count
          try ends[index].perform(ends[index].session.receive(bytes, now: time))
        }
      }
      try applyDue()
      try work()
      if let error = ends.compactMap(\.closed).first { throw error }
    }
  }

  private func applyDue() throws {
    while let index = applies.firstIndex(where: { $0.at <= time }) {
      let (end, _, batch) = applies.remove(at: index)
      let session = ends[end].session
      let result = Result {
        try ends[end].peer.store.write(origin: .remote(session.id)) { try batch.apply(in: $0) }.0
      }
      try ends[end].perform(session.applied(batch.ticket, result, now: time))
    }
  }

  /// Everything that takes no time.
  func work() throws {
    var isBusy = true
    while isBusy {
      isBusy = false
      for peer in network.peers { try peer.distribute() }
      for (index, end) in ends.enumerated() {
        while !end.commits.isEmpty {
          try end.perform(end.session.committed([end.commits.removeFirst()], now: time))
          isBusy = true
        }
        while !end.applies.isEmpty {
          applies.append((index, time + applyTime, end.applies.removeFirst()))
          isBusy = true
        }
        while !end.packs.isEmpty {
          try end.perform(end.session.packed(end.packs.removeFirst().run(with: PackBench()), now: time))
          isBusy = true
        }
        if end.isAwake {
          end.isAwake = false
          try end.perform(end.session.tick(now: time))
          isBusy = true
        }
        if !end.outbound.isEmpty {
          lines[index].submit(end.outbound, at: time)
          end.outbound.removeAll()
        }
      }
    }
  }
}
