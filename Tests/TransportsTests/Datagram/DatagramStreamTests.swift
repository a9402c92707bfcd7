import Links
import TestKit
import Testing

/// What holds of a stream over packets, whatever the air does; in simulated time.
@Suite(.serialized, .timeLimit(.minutes(15))) struct DatagramStreamTests {
  /// A run with properties drawn from a seed.
  private struct Draw {
    var simulation: RadioSimulation
    let sizes: [Int]

    init(seed: UInt64) {
      var random = SeededGenerator(seed: seed)
      var air = RadioSimulation.Air()
      air.packetBytes = random.pick([20, 23, 60, 180, 180, 512, 1_200])
      air.bytesPerSecond = random.pick([20_000, 20_000, 4_000, 1_000_000])
      air.latency = .milliseconds(random.int(below: 100))
      air.jitter = .milliseconds(random.pick([0, 0, 30, 200]))
      air.lost = random.pick([0, 10, 50, 300])
      air.doubled = random.pick([0, 20, 200])
      air.damaged = random.pick([0, 0, 20])
      air.queuePackets = random.pick([1, 4, 1_000])
      var options = DatagramOptions()
      options.windowBytes = random.pick([32 << 10, 4 << 10, 100])
      simulation = RadioSimulation(air, seed: seed, options: options)
      sizes = [random.int(below: 10_000), random.int(below: 10_000)]
      for index in 0..<2 {
        simulation.ends[index].eagerness = random.pick([10, 3, 1])
        var offset = 0
        while offset < sizes[index] {
          let count = min(sizes[index] - offset, 1 + random.int(below: 700))
          simulation.ends[index].stream.write([pattern(count, from: offset)])
          offset += count
        }
        simulation.ends[index].stream.finish()
      }
    }
  }

  @Test(arguments: 0..<10)
  func `all bytes arrive, once and in order, and both directions end`(_ part: UInt64) async {
    for seed in part * 5 + 1...part * 5 + 5 {
      // Nothing here waits by itself, and other tests want the thread too.
      await Task.yield()
      var draw = Draw(seed: seed)
      expect(draw.simulation.run { $0.ends.allSatisfy { $0.stream.ends.count == 2 } }, "seed \(seed)")
      for index in 0..<2 {
        let end = draw.simulation.ends[index]
        expectEqual(end.received, pattern(draw.sizes[1 - index]), "seed \(seed)")
        expect(end.hasEnded(.inbound) && end.hasEnded(.outbound), "seed \(seed): \(end.stream.ends)")
      }
      // What is kept never exceeds what was granted: sent and received, a window each.
      expect(draw.simulation.ends.allSatisfy { $0.mostHeld <= 2 * DatagramLimits.window }, "seed \(seed)")
      // Nothing goes on for ever behind the end.
      let isQuiet = draw.simulation.run(within: .seconds(10)) { $0.ends.allSatisfy { $0.stream.isQuiet } }
      expect(isQuiet, "seed \(seed)")
      expect(draw.simulation.ends.allSatisfy { $0.stream.nextTick == nil }, "seed \(seed)")
    }
  }

  @Test func `an end that takes nothing holds no more than its window, and the other one waits`() {
    var options = DatagramOptions()
    options.windowBytes = 3_600
    var simulation = RadioSimulation(seed: 3, options: options)
    simulation.ends[1].eagerness = 0
    simulation.ends[0].stream.write([pattern(100_000)])
    // Far longer than the silence that would end the link, were nothing said meanwhile.
    #expect(!simulation.run(within: .seconds(600)) { $0.ends.contains { !$0.stream.ends.isEmpty } })
    #expect(simulation.ends[1].mostHeld == 3_600 / 180)
    #expect(simulation.ends[0].stream.waitingBytes == 100_000 - 20 * 170)
    // Questions for credit are few.
    #expect(simulation.ends[0].sentPackets < 300)
    simulation.ends[1].eagerness = 10
    #expect(simulation.run { $0.ends[1].received.count == 100_000 })
    #expect(simulation.ends[1].received == pattern(100_000))
  }

  @Test func `ends of different sizes use packets that both take`() {
    var simulation = RadioSimulation(seed: 4)
    simulation.ends[1].stream = DatagramStream(packetBytes: 23, tag: 99, name: "small", at: .zero)
    simulation.ends[0].stream.write([pattern(2_000)])
    #expect(simulation.run(within: .seconds(60)) { $0.ends[1].received.count == 2_000 })
    #expect(simulation.ends[1].received == pattern(2_000))
  }

  @Test func `an idle link asks for a sign of life, and lasts`() {
    var simulation = RadioSimulation(seed: 5)
    #expect(!simulation.run(within: .seconds(3_000)) { $0.ends.contains { !$0.stream.ends.isEmpty } })
    // Two small packets in eight seconds.
    #expect(simulation.ends[0].sentBytes < 3_000 / 8 * 2 * 10)
  }

  @Test func `a channel that falls silent ends the link after the time that is granted`() {
    var simulation = RadioSimulation(seed: 6)
    simulation.ends[0].stream.write([[1]])
    #expect(simulation.run { $0.ends[1].received == [1] })
    simulation.air.lost = 1_000
    simulation.ends[0].stream.write([[2]])
    let start = simulation.now
    #expect(simulation.run(within: .seconds(60)) { $0.ends.allSatisfy { $0.stream.ends.count == 2 } })
    #expect(simulation.now - start <= .seconds(31))
    for end in simulation.ends {
      expectEqual(end.error(.inbound)?.code, .timedOut)
      expectEqual(end.error(.outbound)?.message.contains("nothing was heard for too long"), true)
    }
  }

  @Test func `nobody at the other end is an error after the time that is granted`() {
    var air = RadioSimulation.Air()
    air.lost = 1_000
    var simulation = RadioSimulation(air, seed: 7)
    simulation.ends[0].stream.write([[1]])
    #expect(simulation.run(within: .seconds(11)) { $0.ends.allSatisfy { $0.stream.ends.count == 2 } })
    #expect(simulation.ends[0].error(.inbound)?.message.contains("nobody has said hello in time") == true)
    #expect(simulation.ends[0].stream.isQuiet)
  }

  @Test(arguments: [0, 1])
  func `an end that closes tells the other one, what had arrived first`(_ closing: Int) {
    var air = RadioSimulation.Air()
    air.lost = 300
    var simulation = RadioSimulation(air, seed: 8)
    simulation.ends[closing].stream.write([pattern(300)])
    let other = 1 - closing
    #expect(simulation.run { $0.ends[other].received.count == 300 })
    simulation.ends[closing].stream.close(LinkError(.closed, "done"), at: simulation.now)
    #expect(simulation.ends[closing].error(.outbound)?.code == .closed)
    #expect(simulation.run(within: .seconds(9)) { $0.ends[other].stream.ends.count == 2 })
    #expect(simulation.ends[other].error(.inbound)?.code == .disconnected)
    #expect(simulation.run(within: .seconds(9)) { $0.ends.allSatisfy { $0.stream.isQuiet } })
  }

  @Test func `a radio that loses its channel ends both directions with what it says`() {
    var simulation = RadioSimulation(seed: 9)
    simulation.ends[0].stream.write([[1]])
    #expect(simulation.run { $0.ends[1].received == [1] })
    simulation.ends[1].stream.channelEnded("out of range", at: simulation.now)
    #expect(simulation.ends[1].error(.inbound)?.code == .disconnected)
    #expect(simulation.ends[1].error(.outbound)?.message.contains("out of range") == true)
    #expect(simulation.ends[1].stream.isQuiet)
  }

  @Test func `an end that has begun anew ends the link of the other one`() {
    var simulation = RadioSimulation(seed: 10)
    simulation.ends[0].stream.write([[1]])
    #expect(simulation.run { $0.ends[1].received == [1] })
    simulation.ends[1].stream = DatagramStream(packetBytes: 180, tag: 4_711, name: "new", at: simulation.now)
    #expect(simulation.run(within: .seconds(5)) { $0.ends[0].stream.ends.count == 2 })
    #expect(simulation.ends[0].error(.inbound)?.message.contains("begun anew") == true)
  }

  @Test func `a radio with packets that are too small is an error that says how small`() {
    let stream = DatagramStream(packetBytes: 19, tag: 1, name: "tiny", at: .zero)
    #expect((stream.ends[.inbound] ?? nil)?.message.contains("packets of 19 bytes; 20 are needed") == true)
    #expect(stream.isQuiet)
  }

  /// What the page says of the cost, at 20 KB/s.
  @Test(arguments: [
    (packetBytes: 180, lost: 0, most: 1.06), (180, 10, 1.08), (180, 50, 1.2), (512, 0, 1.03), (20, 0, 1.85),
  ])
  func `the cost in bytes is what is documented`(packetBytes: Int, lost: Int, most: Double) {
    var air = RadioSimulation.Air()
    (air.packetBytes, air.lost) = (packetBytes, lost)
    var simulation = RadioSimulation(air, seed: 11)
    let count = 50_000
    simulation.ends[0].stream.write([pattern(count)])
    simulation.ends[0].stream.finish()
    simulation.ends[1].stream.finish()
    #expect(simulation.run { $0.ends.allSatisfy { $0.stream.ends.count == 2 } })
    let sent = simulation.ends.reduce(0) { $0 + $1.sentBytes }
    #expect(Double(sent) / Double(count) < most, "\(sent) bytes for \(count)")
    // The line is used while there is something to send: a window covers the round trip.
    let ideal = Double(simulation.ends[0].sentBytes) / Double(air.bytesPerSecond)
    #expect(simulation.now < .seconds(ideal * 1.15 + 1))
  }
}
