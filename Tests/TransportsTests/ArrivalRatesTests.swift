import NIOCore
import Testing

@testable import Transports

/// How fast connections may come from one address.
@Suite struct ArrivalRatesTests {
  private let start = NIODeadline.now()
  private let here = ConnectionOrigin(named: "here")
  private let there = ConnectionOrigin(named: "there")

  @Test func `so many may come at once, and then so many in each second`() {
    var rates = ArrivalRates(atOnce: 3, perSecond: 2)
    func admitted(_ origin: ConnectionOrigin, after time: TimeAmount) -> Int {
      (0..<10).count { _ in rates.admit(origin, at: start + time) }
    }
    #expect(admitted(here, after: .zero) == 3)
    #expect(admitted(here, after: .milliseconds(499)) == 0)
    #expect(admitted(here, after: .milliseconds(500)) == 1)
    #expect(admitted(here, after: .milliseconds(1_500)) == 2)
    // One address does not count for another, and no more is saved up than may come at once.
    #expect(admitted(there, after: .milliseconds(1_500)) == 3)
    #expect(admitted(here, after: .seconds(100)) == 3)
  }

  @Test func `a clock that goes back gives nothing and takes nothing`() {
    var rates = ArrivalRates(atOnce: 2, perSecond: 1)
    let admitted = [TimeAmount.zero, .seconds(-10), .seconds(-10)].map { rates.admit(here, at: start + $0) }
    #expect(admitted == [true, true, false])
  }

  @Test func `no more origins are kept than a limit`() {
    var rates = ArrivalRates(atOnce: 2, perSecond: 1)
    for number in 0..<ArrivalRates.most * 3 {
      let now = start + .milliseconds(Int64(number))
      let isAdmitted = rates.admit(ConnectionOrigin(named: "\(number)"), at: now)
      #expect(isAdmitted)
      #expect(rates.count <= ArrivalRates.most)
    }
  }

  @Test func `a flood of connections is closed as it arrives, and another address is not kept out`() throws {
    var limits = ConnectionLimits()
    (limits.arrivalsByAddress, limits.arrivalsByAddressPerSecond) = (4, 1)
    let connections = HalfOpenConnections(limits)
    var admitted = 0
    for _ in 0..<20 {
      guard let place = connections.enter(from: here, at: start) else { continue }
      admitted += 1
      place.end()
    }
    #expect(admitted == 4 && connections.count == 0)
    #expect(connections.enter(from: there, at: start) != nil)
    #expect(connections.enter(from: here, at: start + .seconds(1)) != nil)
    #expect(connections.enter(from: here, at: start + .seconds(1)) == nil)
  }
}
