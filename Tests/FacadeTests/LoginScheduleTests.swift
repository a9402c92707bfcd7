#if TLS
  import Foundation
  import Testing

  import Facade

  /// When an application is asked to log in.
  @Suite struct LoginScheduleTests {
    private let start = Date(timeIntervalSince1970: 1_000_000)

    private func schedule(random: UInt64 = 1 << 63) -> LoginSchedule {
      var schedule = LoginSchedule(random: { random })
      schedule.lost(askingAt: start)
      return schedule
    }

    @Test func `without a certificate the application is asked once`() {
      var schedule = schedule()
      #expect(schedule.step(at: start) == .ask(.required))
      schedule.answered()
      #expect(schedule.step(at: start + 1e6) == .wait(until: nil))
      schedule.require(at: start + 5)
      #expect(schedule.step(at: start + 5) == .ask(.required))
      // While it is being asked, it is not asked again.
      schedule.require(at: start + 6)
      #expect(schedule.step(at: start + 6) == .wait(until: nil))
    }

    @Test func `who could not even try is asked again, and a clock that was set back puts nothing off`() {
      var schedule = schedule()
      #expect(schedule.step(at: start) == .ask(.required))
      schedule.gaveUp(at: start)
      schedule.answered()
      guard case .wait(let time?) = schedule.step(at: start) else {
        Issue.record("It is to wait")
        return
      }
      #expect(time > start && time < start + 10)
      #expect(schedule.step(at: start - 1e9) == .ask(.required))
      schedule.answered()
      // While a certificate holds there is a time to ask anyway.
      schedule.granted(at: start, until: start + 9_000)
      schedule.gaveUp(at: start)
      #expect(schedule.step(at: start) == .wait(until: start + 6_000))
    }

    @Test func `a question that is under way is not asked a second time when the certificate is lost`() {
      var schedule = schedule()
      #expect(schedule.step(at: start) == .ask(.required))
      schedule.lost(askingAt: start + 1)
      #expect(schedule.step(at: start + 2) == .wait(until: nil))
      schedule.answered()
      #expect(schedule.step(at: start + 2) == .ask(.required))
    }

    @Test
    func `a certificate is renewed from two thirds of its time on, then whenever half of the rest is gone`() {
      var schedule = schedule()
      schedule.granted(at: start, until: start + 9_000)
      #expect(schedule.step(at: start) == .wait(until: start + 6_000))
      #expect(schedule.step(at: start + 6_000) == .ask(.expiringSoon(seconds: 3_000)))
      #expect(schedule.step(at: start + 6_000) == .wait(until: start + 9_000))
      schedule.answered()
      #expect(schedule.step(at: start + 6_000) == .wait(until: start + 7_500))
      #expect(schedule.step(at: start + 7_500) == .ask(.expiringSoon(seconds: 1_500)))
      schedule.answered()
      #expect(schedule.step(at: start + 8_990) == .ask(.expiringSoon(seconds: 10)))
      schedule.answered()
      // Not again before the end.
      #expect(schedule.step(at: start + 8_991) == .wait(until: start + 9_000))
      #expect(schedule.step(at: start + 9_001) == .expire)
      #expect(schedule.step(at: start + 9_001) == .ask(.required))
    }

    @Test(arguments: [(UInt64.min, 0.633), (.max, 0.7)])
    func `devices that have logged in together renew at different times`(_ random: UInt64, _ part: Double) {
      var schedule = schedule(random: random)
      schedule.granted(at: start, until: start + 1_000)
      guard case .wait(let time?) = schedule.step(at: start) else {
        Issue.record("It is to wait")
        return
      }
      #expect(abs(time.timeIntervalSince(start) - part * 1_000) < 2)
    }

    @Test
    func `a failed login is asked for again after a delay that grows, and is not put off by the question`() {
      var schedule = schedule()
      #expect(schedule.step(at: start) == .ask(.required))
      var delays: [TimeInterval] = []
      for _ in 0..<12 {
        delays.append(
          schedule.failed(at: start, isPassing: true, retryAfter: nil).timeIntervalSince(start))
      }
      #expect(delays[0] == 1.5)
      #expect(delays.last == 225)
      #expect(delays == delays.sorted())
      schedule.answered()
      #expect(schedule.step(at: start) == .wait(until: start + 225))
      #expect(schedule.step(at: start + 225) == .ask(.required))
      schedule.granted(at: start, until: start + 1e6)
      #expect(schedule.failed(at: start, isPassing: true, retryAfter: nil) == start + 1.5)
    }

    @Test func `the service's wish is kept, and a refused token waits a minute`() {
      var schedule = schedule()
      #expect(schedule.failed(at: start, isPassing: true, retryAfter: .seconds(1_000)) == start + 1_000)
      #expect(schedule.failed(at: start, isPassing: false, retryAfter: nil) == start + 60)
    }

    @Test func `a failure does not keep a certificate beyond its end`() {
      var schedule = schedule()
      schedule.granted(at: start, until: start + 100)
      _ = schedule.failed(at: start + 90, isPassing: true, retryAfter: .seconds(1_000))
      #expect(schedule.step(at: start + 91) == .wait(until: start + 100))
      #expect(schedule.step(at: start + 101) == .expire)
      #expect(schedule.step(at: start + 101) == .ask(.required))
    }

    @Test func `a certificate that ends when it comes makes no circle`() {
      var schedule = schedule()
      schedule.granted(at: start, until: start + 1)
      #expect(schedule.step(at: start + 0.9) == .wait(until: start + 1))
      #expect(schedule.step(at: start + 1) == .expire)
      #expect(schedule.step(at: start + 1) == .wait(until: start + 5))
      #expect(schedule.step(at: start + 5) == .ask(.required))
      schedule.answered()
      schedule.granted(at: start + 10, until: start)
      #expect(schedule.step(at: start + 10) == .expire)
    }
  }
#endif
