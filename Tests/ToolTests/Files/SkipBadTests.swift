import CRDTCore
import Foundation
import TestKit
import Testing

/// Imports that leave out what is bad.
@Suite struct SkipBadTests {
  let scene: FileScene

  init() throws { scene = try FileScene() }

  @Test func `bad lines are told and kept, and all others stored`() throws {
    let lines = (1...50).map { number -> String in
      switch number {
      case 7: "{\"_id\":7,"
      case 17: "{\"_id\":1.5}"
      case 18: "[18]"
      case 33: "{\"_id\":33,\"m\":{\((0...10_000).map { "\"k\($0)\":0" }.joined(separator: ","))}}"
      default: "{\"_id\":\(number)}"
      }
    }
    let file = try scene.file("a.jsonl", lines.joined(separator: "\n") + "\n")
    let bad = scene.directory.file("bad.jsonl")
    let outcome = try scene.run(
      "import", scene.store, "things", file, "--skip-bad", "--bad-lines", bad, "--batch", "10")
    #expect(outcome.status == 4)
    #expect(outcome.output.contains("46 documents imported") && outcome.output.contains("4 records left out"))
    #expect(outcome.errors.contains("a.jsonl, line 7: expected a key"), "\(outcome.errors)")
    #expect(outcome.errors.contains("a.jsonl, line 17: Floats are not supported"))
    #expect(outcome.errors.contains("a.jsonl, line 18: a document must be a JSON object"))
    #expect(outcome.errors.contains("a.jsonl, line 33: "))
    #expect(try scene.text("bad.jsonl") == [7, 17, 18, 33].map { lines[$0 - 1] + "\n" }.joined())
    #expect(try scene.query("SELECT COUNT(*) AS n FROM things") == "{\"n\":46}\n")
    #expect(try scene.states().isEmpty)
    // What is kept is not written over.
    let again = try scene.run("import", scene.store, "things", file, "--skip-bad", "--bad-lines", bad)
    #expect(again.status == 1 && again.errors.contains("bad.jsonl: there is a file already"))
  }

  @Test func `bad records of a file with columns are kept with its header, so that they can be mended`()
    throws
  {
    let csv = "_id,n\r\n1,2\r\n2,3,4\r\n3,x\r\n4,\"y\nz\",\r\n5,6\r\n"
    let bad = scene.directory.file("bad.csv")
    let outcome = try scene.run(
      "import", scene.store, "things", scene.file("a.csv", csv), "--types", "n:int", "--skip-bad",
      "--bad-lines", bad, "--json")
    #expect(outcome.status == 4)
    let summary = try object(outcome)
    #expect(summary["documents"] as? Int == 2 && summary["skipped"] as? Int == 3)
    let told = try #require(summary["bad"] as? [[String: Any]])
    #expect(told.map { $0["line"] as? Int } == [3, 4, 5])
    #expect(told[1]["message"] as? String == "column n: the value is no integer of 64 bits")
    #expect(try scene.text("bad.csv") == "_id,n\n2,3,4\n3,x\n4,\"y\nz\",\n")
    let mended = try scene.text("bad.csv").replacing("2,3,4", with: "2,3").replacing("3,x", with: "3,0")
      .replacing("\"y\nz\",", with: "1")
    let second = try scene.run("import", scene.store, "things", scene.file("mended.csv", mended))
    #expect(second.status == 0, "\(second.errors)")
    #expect(try scene.contents().count == 5)
  }

  @Test func `elements of an array that are bad are kept as lines`() throws {
    let json = "[{\"_id\":1},\n {\"_id\":\n1.5}, nothing\n,{\"_id\":2}]"
    let bad = scene.directory.file("bad.jsonl")
    let outcome = try scene.run(
      "import", scene.store, "things", scene.file("a.json", json), "--skip-bad", "--bad-lines", bad)
    #expect(outcome.status == 4, "\(outcome.errors)")
    #expect(try scene.text("bad.jsonl") == "{\"_id\": 1.5}\nnothing \n")
    #expect(Set(try scene.contents().keys) == [.int(1), .int(2)])
  }

  @Test func `of many bad lines the first are told, and the others counted`() throws {
    let lines = String(repeating: "x\n", count: 2_500) + "{\"_id\":1}\n"
    let outcome = try scene.run("import", scene.store, "things", "-", "--skip-bad", "--json", input: lines)
    #expect(outcome.status == 4)
    #expect(outcome.errors.components(separatedBy: "left out").count == 21)
    #expect(outcome.errors.contains("and 2,480 more"))
    #expect(try #require(try object(outcome)["bad"] as? [Any]).count == 100)
    #expect(try scene.contents().count == 1)
    // Where nothing is bad there is no file of it, and the status says that all is done.
    let good = try scene.run(
      "import", scene.store, "things", "-", "--skip-bad", "--bad-lines", scene.directory.file("none"),
      input: "{\"_id\":2}\n")
    #expect(good.status == 0 && !FileManager.default.fileExists(atPath: scene.directory.file("none")))
  }
}
