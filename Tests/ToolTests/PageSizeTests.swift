#if os(Linux)
  import Foundation
  import TestKit
  import Testing

  /// Stores of a system with another page size, for example those that Apple silicon makes.
  ///
  /// A library that is loaded before the others answers 16,384 when a program asks for the page size.
  @Suite(.enabled(if: CCompiler.isPresent, "there is no C compiler"))
  struct PageSizeTests {
    private static let otherPageBytes = 16_384

    let directory: TemporaryDirectory
    private let otherSystem: [String: String]
    private var store: String { directory.file("store") }

    init() throws {
      directory = try TemporaryDirectory()
      let (source, library) = (directory.file("pages.c"), directory.file("pages.so"))
      let text = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <unistd.h>
        long sysconf(int name) {
          if (name == _SC_PAGESIZE) return \(Self.otherPageBytes);
          return ((long (*)(int))dlsym(RTLD_NEXT, "sysconf"))(name);
        }
        """
      try Data(text.utf8).write(to: URL(fileURLWithPath: source))
      try CCompiler.compile(["-shared", "-fPIC", "-o", library, source, "-ldl"])
      otherSystem = ["LD_PRELOAD": library]
    }

    /// Runs the program here, or as on the other system; it must succeed.
    @discardableResult
    private func run(
      _ arguments: String..., input: String = "", onOther isOther: Bool = false, line: Int = #line
    ) throws -> String {
      let outcome = try Tool.run(
        arguments, in: directory.path, input: input, environment: isOther ? otherSystem : [:])
      expect(outcome.status == 0, "line \(line): \(outcome)")
      return outcome.output
    }

    /// The page size that a store's file states.
    private func pageBytes(of store: String) throws -> Int {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: store + "/data.mdb")).prefix(44).suffix(4)
      return bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Makes a store with short values, values that take a page, and values that take many pages.
    private func makeStore(onOther isOther: Bool) throws {
      var lines = (0..<1_500).map { #"{"_id":"d\#($0)","note":"a note with the number \#($0) in it"}"# }
      lines += (0..<20).map { number in
        let text = (0..<1_500 * (number % 5 + 1)).map { "\(number * 7_919 + $0 * 104_729) " }.joined()
        return #"{"_id":"long\#(number)","text":"\#(text)"}"#
      }
      try run(
        "import", store, "things", "-", input: lines.joined(separator: "\n") + "\n", onOther: isOther)
    }

    private func count(_ store: String, onOther isOther: Bool) throws -> String {
      try run("query", store, "SELECT COUNT(*) AS n FROM things", onOther: isOther)
    }

    @Test(arguments: [false, true])
    func `a store of a system with another page size is read, written, verified and copied`(
      onOther isOther: Bool
    ) throws {
      // First the other system makes the store, and this one uses it; then the reverse.
      try makeStore(onOther: !isOther)
      let made = try pageBytes(of: store)
      let system = Int(sysconf(Int32(_SC_PAGESIZE)))
      #expect(made == (isOther ? system : Self.otherPageBytes))
      try expectEqual(count(store, onOther: isOther), "{\"n\":1520}\n")
      let exported = try run("export", store, "things", onOther: isOther)
      #expect(try exported == run("export", store, "things", onOther: !isOther))

      try run(
        "query", store, "UPDATE things SET note = 'changed' WHERE _id = 'd7' OR _id = 'long4'",
        onOther: isOther)
      try run("query", store, "CREATE INDEX notes ON things (note)", onOther: isOther)
      try run("query", store, "EVICT FROM things WHERE _id = 'd8' OR _id = 'long9'", onOther: isOther)
      let found = "SELECT COUNT(*) AS n FROM things WHERE note = 'changed'"
      try expectEqual(run("query", store, found, onOther: isOther), "{\"n\":2}\n")
      #expect(try pageBytes(of: store) == made)
      let verified = try run("verify", store, onOther: isOther)
      #expect(verified.contains("Nothing is damaged: 1,518 documents"), "\(verified)")
      // The system that made the store goes on with it.
      try expectEqual(run("query", store, found, onOther: !isOther), "{\"n\":2}\n")

      // A copy has the pages of the system that makes it.
      let (backup, rescued) = (directory.file("backup"), directory.file("rescued"))
      try run("backup", store, backup, onOther: isOther)
      try run("rescue", store, rescued, onOther: isOther)
      try run("compact", store, onOther: isOther)
      for place in [backup, rescued, store] {
        try expectEqual(pageBytes(of: place), isOther ? Self.otherPageBytes : system)
        try expectEqual(run("query", place, found, onOther: isOther), "{\"n\":2}\n")
        let verified = try run("verify", place, onOther: isOther)
        expect(verified.contains("Nothing is damaged: 1,518 documents"), "\(verified)")
      }
    }

    @Test func `the second meta page is found where the first one is damaged`() throws {
      try makeStore(onOther: true)
      let handle = try FileHandle(forUpdating: URL(fileURLWithPath: store + "/data.mdb"))
      try handle.write(contentsOf: Data(repeating: 0, count: 160))
      try handle.close()
      let verified = try Tool.run(["verify", store], in: directory.path)
      #expect(verified.status == 3 && verified.output.contains("Page 0 "), "\(verified)")
      // The last commit may have been on the page that is lost.
      let rescued = try Tool.run(["rescue", store, directory.file("rescued")], in: directory.path)
      #expect(rescued.status == 0, "\(rescued)")
      try run("verify", directory.file("rescued"))
    }
  }
#endif
