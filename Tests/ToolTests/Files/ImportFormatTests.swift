import CRDTCore
import Foundation
import TestKit
import Testing

/// `dunlin import` with each format: what is good, and where what is bad stands.
@Suite struct ImportFormatTests {
  let scene: FileScene

  init() throws { scene = try FileScene() }

  @Test(arguments: [
    ("a.jsonl", "{\"_id\":1,\"n\":2}\n{\"_id\":2,\"n\":3}\n"),
    ("a.json", "[\n {\"_id\":1,\"n\":2},\n {\"_id\":2,\n \"n\":3}\n]\n"),
    // Many files of that name hold lines.
    ("b.json", "\n{\"_id\":1,\"n\":2}\n{\"_id\":2,\"n\":3}"),
    ("a.csv", "_id,n\r\n1,2\r\n2,3\r\n"), ("b.csv", "\u{FEFF}_id,n\n1,2\n\n2,3"),
    ("a.tsv", "n\t_id\n2\t1\n3\t2\n"),
  ])
  func `each format is read, by the name of the file`(name: String, text: String) throws {
    let outcome = try scene.run("import", scene.store, "things", scene.file(name, text))
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.output.hasPrefix("2 documents imported"))
    #expect(try scene.contents() == [.int(1): ["n": .int(2)], .int(2): ["n": .int(3)]])
    #expect(try scene.states().isEmpty)
  }

  @Test func `a format can be said, and a pipe has none by itself`() throws {
    let csv = "_id;n\n1;2\n"
    let outcome = try scene.run(
      "import", scene.store, "things", "-", "--format", "csv", "--delimiter", ";", input: csv)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(try scene.contents() == [.int(1): ["n": .int(2)]])
    let wrong = try scene.run("import", scene.store, "things", "-", input: "[{}]\n")
    #expect(wrong.status == 1 && wrong.errors.contains("line 1: a document must be a JSON object"))
    let strict = try scene.run(
      "import", scene.store, "things", scene.file("l.json", "{}\n{}\n"), "--format", "json")
    #expect(strict.status == 1 && strict.errors.contains("l.json, line 1: expected an array"))
    for arguments in [
      ["--types", "a:int"], ["--format", "jsonl", "--delimiter", ";"], ["--columns", "a"],
      ["--format", "xml"],
      ["--types", "a:b"],
      ["--format", "csv", "--delimiter", "ab"], ["--id-field", "a", "--id-template", "{a}"],
      ["--id-template", "a"],
      ["--bad-lines", "x"], ["--resume", "--restart"], ["--resume"], ["--format", "csv", "--columns", "a,a"],
    ] {
      let refused = try Tool.run(
        ["import", scene.store, "things", "-"] + arguments, in: scene.directory.path)
      expectEqual(refused.status, 64, "\(arguments)")
    }
  }

  @Test func `of several mistakes the first is told, and a wrong file leaves no store`() throws {
    let text = "{\"_id\":1}\n{\"_id\":2,\n{\"_id\":3}\n[4]\n"
    let outcome = try scene.run("import", scene.store, "things", scene.file("a.jsonl", text))
    #expect(outcome.status == 1 && outcome.errors.contains("a.jsonl, line 2: "), "\(outcome.errors)")
    #expect(!FileManager.default.fileExists(atPath: scene.store))
    let wide = "{\"_id\":2,\"m\":{\((0...10_000).map { "\"k\($0)\":0" }.joined(separator: ","))}}"
    let refused = try scene.run(
      "import", scene.store, "things", scene.file("b.jsonl", "{\"_id\":1}\n\(wide)\n{\"_id\":3}\n[4]\n"),
      "--batch", "2")
    #expect(refused.status == 1 && refused.errors.contains("b.jsonl, line 2: "), "\(refused.errors)")
  }

  @Test func `types are those that are given, or found out safely`() throws {
    let csv = """
      code,zip,price,n,ok,note,tags,deep.a,deep.b
      7,01234,1.10,1,true,"5",[1],x,
      8,90210,2,2,false,,,,"y"

      """
    let outcome = try scene.run(
      "import", scene.store, "things", scene.file("a.csv", csv), "--types", "tags:json,n:counter",
      "--id-field", "code")
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(
      try scene.contents() == [
        .int(7): [
          "code": .int(7), "zip": .string("01234"), "price": .double(1.1), "n": .counter(1),
          "ok": .bool(true),
          "note": .string("5"), "tags": .array([.int(1)]), "deep": .map(["a": .string("x")]),
        ],
        .int(8): [
          "code": .int(8), "zip": .string("90210"), "price": .double(2), "n": .counter(2), "ok": .bool(false),
          "deep": .map(["b": .string("y")]),
        ],
      ])
  }

  @Test func `a value that is not of the type that was found out is text, and that is told`() throws {
    let rows = (1...1_500).map { "\($0),\($0 == 1_200 ? "n/a" : "\($0)")" }.joined(separator: "\n")
    let outcome = try scene.run("import", scene.store, "things", scene.file("a.csv", "_id,n\n\(rows)\n"))
    #expect(outcome.status == 0)
    #expect(outcome.errors.contains("column n: 1 value is text"), "\(outcome.errors)")
    #expect(outcome.errors.contains("line 1201") && outcome.errors.contains("--types n:string"))
    #expect(try scene.query("SELECT n FROM things WHERE _id = 1200") == "{\"n\":\"n/a\"}\n")
    #expect(try scene.query("SELECT COUNT(*) AS n FROM things") == "{\"n\":1500}\n")
  }

  @Test(arguments: [
    ("a.csv", "_id,n\n1,2\n2,3,4\n", "a.csv, line 3: 3 columns, where the header has 2"),
    (
      "a.csv", "_id,n\n1,2\n\n\"2\n\",\"x\n",
      "a.csv, line 4: column 2: the quotes that open here are not closed"
    ),
    ("a.csv", "_id,n\n1,2\n2,a\"b\n", "a.csv, line 3: column 2: a quote"),
    ("a.csv", "_id,_id\n1,2\n", "a.csv, line 1: two columns have the name _id"),
    ("a.csv", "_id,\n1,2\n", "a.csv, line 1: column 2 of the header has no name"),
    ("a.csv", "_id,\"n\n1,2\n", "a.csv, line 1: column 2: the quotes"),
    // Line breaks in quotes are lines of the file too, in the header and in values.
    ("a.csv", "_id,\"n\nm\"\n1,\"x\ny\"\n2\n", "a.csv, line 5: 1 column, where the header has 2"),
    ("a.csv", "_id,n\r\n1,\"x\r\ny\"\r\n\r\n2,3,4\r\n", "a.csv, line 5: 3 columns, where the header has 2"),
    ("a.csv", "_id, \n1,2\n", "a.csv, line 1: column 2 of the header has no name"),
    ("a.csv", "_id, _id\n1,2\n", "a.csv, line 1: two columns have the name _id"),
    (
      "a.csv", "_id\tn\n1\t2\n",
      "a.csv, line 1: the header has tabs between its columns, and no ',': say --format tsv, or --delimiter ','"
    ),
    ("a.csv", "\"_id\"\t\"n, m\"\n1\t2\n", "say --format tsv"),
    ("a.csv", "_id;n\n1;2\n", "say --delimiter ';'"),
    ("a.tsv", "_id,n\n1,2\n", "and no tabs: say --format csv, or --delimiter '\\t'"),
    ("a.tsv", "_id\tn\n1\t2\n1.5\t3\n", "a.tsv, line 2: Floats are not supported"),
    ("a.json", "[{\"_id\":1},\n{\"a\":tru}]", "a.json, line 2: expected"),
    ("a.json", "[{\"_id\":1},\n{\"a\":1}", "a.json, line 2: the text ends within"),
    ("a.json", "[{\"_id\":1},\n7]", "a.json, line 2: a document must be a JSON object"),
    ("a.json", "[{\"_id\":1}]\n{}", "a.json, line 2: expected the end"),
    ("a.json", "[{\"_id\":1},\n,{}]", "a.json, line 2: "),
    ("a.jsonl", "{\"_id\":1}\n{\"a\":1}}\n", "a.jsonl, line 2: "),
  ])
  func `a mistake is told with the file and the line, and nothing of its batch is stored`(
    name: String, text: String, words: String
  ) throws {
    let outcome = try scene.run("import", scene.store, "things", scene.file(name, text))
    #expect(outcome.status == 1)
    #expect(outcome.errors.contains(words), "\(outcome.errors)")
    #expect(!FileManager.default.fileExists(atPath: scene.store))
  }

  @Test func `spaces around a column's name are left out, and a separator that is said is taken at its word`()
    throws
  {
    let csv = try scene.file("a.csv", "_id , price ,\" note \"\n1,2,x\n")
    let outcome = try scene.run("import", scene.store, "things", csv, "--types", "price:double")
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(try scene.contents() == [.int(1): ["price": .double(2), " note ": .string("x")]])
    // The export has what the import needs to read the same names.
    let back = scene.directory.file("back.csv")
    #expect(try scene.run("export", scene.store, "things", back).status == 0)
    let copy = scene.directory.file("copy")
    #expect(try scene.run("import", copy, "things", back, "--types", "price:double").status == 0)
    #expect(try scene.contents(copy) == scene.contents())
    // One column whose name has a tab in it.
    let odd = try scene.file("b.csv", "a\tb\nx\ty\n")
    #expect(try scene.run("import", scene.store, "odd", odd).status == 1)
    #expect(try scene.run("import", scene.store, "odd", odd, "--delimiter", ",").status == 0)
    #expect(try scene.query("SELECT * FROM odd").contains(#""a\tb":"x\ty""#))
    let tabs = try scene.file("c.csv", "_id\tn\n1\t2\n")
    #expect(try scene.run("import", copy, "tabs", tabs, "--format", "tsv").status == 0)
  }

  @Test func `an import tells the types that it has found, and a dry run writes nothing`() throws {
    let csv = try scene.file("a.csv", "_id,zip,price,ok\n1,01234,1.5,true\n2,90210,2,false\n")
    let trial = try scene.run("import", scene.store, "things", csv, "--dry-run")
    #expect(trial.status == 0, "\(trial.errors)")
    #expect(trial.output.hasPrefix("2 documents can be imported; nothing is written"))
    #expect(trial.errors.contains("types: _id:int,zip:string,price:double,ok:bool\n"))
    #expect(!FileManager.default.fileExists(atPath: scene.store))
    // The types can be pasted behind --types, and then there is nothing to tell.
    let given = try scene.run(
      "import", scene.store, "things", csv, "--types", "_id:int,zip:string,price:double,ok:bool")
    #expect(given.status == 0 && !given.errors.contains("types: "), "\(given.errors)")
    let before = try scene.contents()
    let json = try object(scene.run("import", scene.store, "things", csv, "--json", "--dry-run"))
    #expect(json["types"] as? String == "_id:int,zip:string,price:double,ok:bool")
    #expect(json["isDryRun"] as? Bool == true && json["documents"] as? Int == 2)
    #expect(try scene.contents() == before)
    let lines = try object(
      scene.run(
        "import", scene.store, "things", scene.file("b.jsonl", "{\"_id\":3}\n"), "--json", "--dry-run"))
    #expect(lines["types"] is NSNull && lines["documents"] as? Int == 1)
    #expect(try scene.contents() == before)
  }

  @Test func `a dry run finds each mistake, behind documents that are good too`() throws {
    let rows = (1...30).map { "{\"_id\":\($0)}" }.joined(separator: "\n")
    let text = try scene.file("a.jsonl", rows + "\n{\"_id\":1.5}\n{\"_id\":31}\n{\"_id\":32,}\n")
    let strict = try scene.run("import", scene.store, "things", text, "--dry-run", "--batch", "10")
    #expect(strict.status == 1 && strict.errors.contains("a.jsonl, line 31: "), "\(strict.errors)")
    #expect(!strict.errors.contains("stored"))
    let all = try scene.run("import", scene.store, "things", text, "--dry-run", "--skip-bad")
    #expect(all.status == 4 && all.errors.contains("line 31") && all.errors.contains("line 33"))
    #expect(all.output.hasPrefix("31 documents can be imported"), "\(all.output)")
    #expect(!FileManager.default.fileExists(atPath: scene.store))
    let refused = try scene.run("import", scene.store, "things", text, "--dry-run", "--resume")
    #expect(refused.status == 64 && refused.errors.contains("--dry-run writes nothing"))
  }

  @Test func `types of columns that are not there are refused, and files without a header read`() throws {
    let wrong = try scene.run(
      "import", scene.store, "things", scene.file("a.csv", "_id,n\n1,2\n"), "--types", "m:int")
    #expect(wrong.status == 1 && wrong.errors.contains("line 1: --types names the column m"))
    let outcome = try scene.run(
      "import", scene.store, "things", scene.file("b.csv", "1,2\n2,3\n"), "--columns", "_id,n")
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(try scene.contents() == [.int(1): ["n": .int(2)], .int(2): ["n": .int(3)]])
    // Columns without rows are no documents.
    let empty = try scene.run("import", scene.store, "none", scene.file("c.csv", "_id,n\n"))
    #expect(empty.status == 0 && empty.output.hasPrefix("0 documents"))
  }

  @Test func `an id comes from a template, for lines and columns alike`() throws {
    let template = "{origin}-{flight}"
    let lines = "{\"origin\":\"JFK\",\"flight\":1}\n{\"origin\":\"LGA\",\"flight\":2,\"_id\":\"other\"}\n"
    let jsonl = try scene.run(
      "import", scene.store, "things", "-", "--id-template", template, input: lines)
    #expect(jsonl.status == 0, "\(jsonl.errors)")
    #expect(Set(try scene.contents().keys) == [.string("JFK-1"), .string("LGA-2")])
    let csv = try scene.file("a.csv", "origin,flight\nEWR,3\n,4\n")
    let missing = try scene.run("import", scene.store, "things", csv, "--id-template", template)
    #expect(missing.status == 1 && missing.errors.contains("a.csv, line 3: the field origin of the template"))
    let skipped = try scene.run(
      "import", scene.store, "things", csv, "--id-template", template, "--skip-bad")
    #expect(skipped.status == 4)
    #expect(try scene.contents()[.string("EWR-3")] == ["origin": .string("EWR"), "flight": .int(3)])
  }

  @Test func `documents without an id get one each, also those that are read with tags`() throws {
    let lines = "{\"a\":1}\n{\"b\":{\"$counter\":2}}\n{}\n{\"\\u005fid\":5}\n"
    #expect(try scene.run("import", scene.store, "things", "-", input: lines).status == 0)
    let found = try scene.contents()
    #expect(found.count == 4 && found[.int(5)] == [:])
    #expect(Set(found.values) == [["a": .int(1)], ["b": .counter(2)], [:]])
    let plain = try scene.file("p.jsonl", "{\"_id\":9,\"b\":{\"$counter\":2}}\n{\"b\":{\"$counter\":2}}\n")
    #expect(try scene.run("import", scene.store, "things", plain, "--plain", "--skip-bad").status == 0)
    let maps = try scene.contents().values.filter { $0["b"] == .map(["$counter": .int(2)]) }
    #expect(maps.count == 2)
  }
}
