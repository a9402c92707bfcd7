import Foundation
import SimKit
import Testing

/// Scripts that broke a promise once, made short: those that are mended must hold, the others are known.
@Suite struct SeedTests {
  @Test(arguments: Self.scripts(in: "mended"))
  func `what was mended stays so`(script: KeptScript) throws {
    let outcome = Simulation().run(try script.script)
    #expect(outcome.violation == nil, "\(script.name): \(outcome.violation?.description ?? "")")
  }

  @Test(arguments: Self.scripts(in: "open"))
  func `what is known to fail is still looked at`(script: KeptScript) throws {
    let outcome = Simulation().run(try script.script)
    withKnownIssue("\(script.name)", isIntermittent: true) {
      #expect(outcome.violation == nil, "\(script.name): \(outcome.violation?.description ?? "")")
    }
  }

  /// A script in a file.
  struct KeptScript: Sendable, CustomTestStringConvertible {
    let name: String
    let url: URL

    var script: Script { get throws { try Script(json: try Data(contentsOf: url)) } }
    var testDescription: String { name }
  }

  static func scripts(in folder: String) -> [KeptScript] {
    guard let seeds = Bundle.module.resourceURL?.appendingPathComponent("Seeds/\(folder)"),
      let names = try? FileManager.default.contentsOfDirectory(atPath: seeds.path)
    else { return [] }
    return names.filter { $0.hasSuffix(".json") }.sorted().map {
      KeptScript(name: $0, url: seeds.appendingPathComponent($0))
    }
  }
}
