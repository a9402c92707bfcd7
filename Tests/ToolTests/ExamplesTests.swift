import Foundation
import TestKit
import Testing

/// The programs in Examples, as their readers run them.
@Suite struct ExamplesTests {
  private func run(_ program: String) throws -> [String] {
    try TemporaryDirectory.with { directory in
      let run = try Tool.run([], in: directory.path, program: program)
      #expect(run.status == 0, "\(run.errors)")
      return run.output.split(separator: "\n").map(String.init)
    }
  }

  @Test func `meal orders reach all tablets, merge, and leave when they are served`() throws {
    let lines = try run("meal-orders")
    try #require(lines.count == 5)
    #expect(lines[0] == "apart:    forward has 2 orders, aft 1, galley 0")
    #expect(lines[1] == "together: each of the three has 3 orders")
    #expect(lines[2] == "cooking:  aft sees 2 pasta orders on their way")
    #expect(lines[3].contains(#""meal":"curry""#) && lines[3].contains(#""wish":"no salt""#))
    #expect(lines[4] == "served:   the attendants have 1 order left, the galley has all 3")
  }

  @Test func `a sensor logger keeps an hour, and the station all`() throws {
    let lines = try run("sensor-logger")
    try #require(lines.count == 5)
    #expect(lines[0] == "hour 8: the logger evicted 840 readings and keeps 120, the station has 960")
    #expect(lines[1] == "hour 16: the logger evicted 960 readings and keeps 120, the station has 1920")
    #expect(lines[2] == "hour 24: the logger evicted 960 readings and keeps 120, the station has 2880")
    #expect(
      lines[3].hasPrefix("north: 1440 readings from ") && lines[4].hasPrefix("south: 1440 readings from "))
  }
}
