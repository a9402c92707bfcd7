import Foundation
import TestKit
import Testing

/// Programs that are all top level, with one spelling of each call.
@Suite struct TopLevelTests {
  @Test(arguments: ["toplevel-waiting", "toplevel-awaiting"])
  func `a program that is all top level compiles, runs, and says the same`(program: String) throws {
    try TemporaryDirectory.with { directory in
      let run = try Tool.run([directory.file("db")], in: directory.path, program: program)
      #expect(run.status == 0, "\(run.errors)")
      // Log lines go elsewhere, and name the database.
      #expect(run.output == "[6, 7, 5] 1 3 true 3\n")
      #expect(run.errors.contains("database=\(directory.file("db"))"))
      #expect(run.errors.contains("unsafe development identity"))
    }
  }
}
