import Links
import Synchronization
import TestKit

/// One of two radios in a process that hear each other, with losses by a seed and a queue that fills.
final class AirRadio: DatagramRadio {
  /// Packets that are under way before no more are taken.
  private static let queuePackets = 8

  /// What the air does with one packet of a hundred, each.
  struct Weather: Sendable {
    var lost = 0
    var doubled = 0
    /// Comes behind the next one.
    var swapped = 0
    var seed: UInt64 = 1

    static let clear = Weather()
    static let rough = Weather(lost: 5, doubled: 3, swapped: 5, seed: 7)
  }

  private struct State {
    var random: SeededGenerator
    var receiver: (any DatagramReceiver)?
    var isClosed = false
    var waiting = 0
    var owesReady = false
    /// A packet that the next one overtakes.
    var late: [UInt8]?
    var sentBytes = 0
    var sentPackets = 0
  }

  private final class Other: Sendable {
    let radio = Mutex<WeakRadio>(WeakRadio())
  }

  private struct WeakRadio { weak var radio: AirRadio? }

  let endpoint: LinkEndpoint
  let maximumPacketBytes: Int
  private let weather: Weather
  private let loop = LoopExecutor.next()
  private let other = Other()
  private let state: Mutex<State>

  private init(_ name: String, packetBytes: Int, _ weather: Weather) {
    endpoint = LinkEndpoint(kind: "air", address: name)
    maximumPacketBytes = packetBytes
    self.weather = weather
    state = Mutex(State(random: SeededGenerator(seed: weather.seed)))
  }

  /// Makes two radios that hear each other.
  static func pair(packetBytes: Int = 180, _ weather: Weather = .clear) -> (AirRadio, AirRadio) {
    let (one, two) = (
      AirRadio("two", packetBytes: packetBytes, weather), AirRadio("one", packetBytes: packetBytes, weather)
    )
    one.other.radio.withLock { $0.radio = two }
    two.other.radio.withLock { $0.radio = one }
    return (one, two)
  }

  var sent: (packets: Int, bytes: Int) { state.withLock { ($0.sentPackets, $0.sentBytes) } }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  func attach(_ receiver: any DatagramReceiver) { state.withLock { $0.receiver = receiver } }

  func send(_ packet: [UInt8]) -> Bool {
    precondition(packet.count <= maximumPacketBytes)
    let copies = state.withLock { state -> [[UInt8]]? in
      guard !state.isClosed else { return [] }
      guard state.waiting < Self.queuePackets else {
        state.owesReady = true
        return nil
      }
      state.waiting += 1
      state.sentBytes += packet.count
      state.sentPackets += 1
      return weathered(packet, &state)
    }
    guard let copies else { return false }
    loop.execute { [self] in
      let radio = other.radio.withLock { $0.radio }
      for copy in copies { radio?.hear(copy) }
      let ready = state.withLock { state -> (any DatagramReceiver)? in
        state.waiting -= 1
        guard state.owesReady, !state.isClosed else { return nil }
        state.owesReady = false
        return state.receiver
      }
      ready?.ready()
    }
    return true
  }

  private func weathered(_ packet: [UInt8], _ state: inout State) -> [[UInt8]] {
    var copies = [packet]
    if let late = state.late {
      copies.append(late)
      state.late = nil
    }
    if state.random.int(below: 100) < weather.doubled { copies.append(packet) }
    if state.random.int(below: 100) < weather.lost { copies.removeFirst() }
    if state.random.int(below: 100) < weather.swapped, !copies.isEmpty { state.late = copies.removeFirst() }
    return copies
  }

  private func hear(_ packet: [UInt8]) {
    state.withLock { $0.isClosed ? nil : $0.receiver }?.received(packet)
  }

  /// Loses the channel, at both ends, as radios do that go out of range.
  func breakDown() {
    for radio in [self, other.radio.withLock({ $0.radio })] {
      radio?.state.withLock { $0.receiver }?.ended("out of range")
    }
  }

  func close() {
    state.withLock { state in
      state.isClosed = true
      state.receiver = nil
    }
  }
}
