import Foundation
import SimKit
import Testing

/// Scripts that broke a promise once, made short: those that are mended must hold, the others are known.
@Suite struct SeedTests {
  @Test(arguments: KeptScript.some(in: "mended", oneIn: 8))
  func `what was mended stays so`(script: KeptScript) throws {
    let outcome = Simulation().run(try script.script)
    #expect(outcome.violation == nil, "\(script.name): \(outcome.violation?.description ?? "")")
  }

  @Test(arguments: KeptScript.all(in: "open"))
  func `what is known to fail is still looked at`(script: KeptScript) throws {
    let outcome = Simulation().run(try script.script)
    withKnownIssue("\(script.name)", isIntermittent: true) {
      #expect(outcome.violation == nil, "\(script.name): \(outcome.violation?.description ?? "")")
    }
  }
}
