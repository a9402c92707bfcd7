package import Foundation

/// A JSON Lines file of documents to import.
package struct Corpus {
  package let collection: String
  package let path: String
  package let documents: Int
  /// Bytes of the JSON texts, without line ends.
  package let jsonBytes: Int

  /// Writes `count` generated orders, and checks them against the known checksums.
  package static func orders(_ count: Int, in directory: URL) throws -> Corpus {
    var orders = Orders()
    var checksum = Checksum()
    return try write("orders", count, in: directory) { index in
      let line = orders.next()
      checksum.add(line)
      if let expected = Orders.checksums[index + 1], expected != checksum.value {
        throw BenchmarkError("the generated orders differ from the reference after \(index + 1) lines")
      }
      return line
    }
  }

  /// Writes `count` flights: the file's, again and again with ids of their own when it has fewer.
  package static func flights(_ count: Int, from file: String, in directory: URL) throws -> Corpus {
    let lines = try readLines(file)
    guard let first = lines.first, first.starts(with: #"{"_id":""#.utf8) else {
      throw BenchmarkError("\(file): expected JSON lines that begin with \"_id\"")
    }
    return try write("flights", count, in: directory) { index in
      var line = Array(lines[index % lines.count])
      let round = index / lines.count
      if round > 0, let end = line.dropFirst(8).firstIndex(of: UInt8(ascii: "\"")) {
        line.insert(contentsOf: Array("~\(round)".utf8), at: end)
      }
      return line + [10]
    }
  }

  /// Writes all lines of a file, plain or gzip, as the documents of a collection.
  package static func lines(_ collection: String, of file: String, in directory: URL) throws -> Corpus {
    let lines = try readLines(file)
    return try write(collection, lines.count, in: directory) { Array(lines[$0]) + [10] }
  }

  private static func write(
    _ name: String, _ count: Int, in directory: URL, _ line: (Int) throws -> [UInt8]
  ) throws -> Corpus {
    let path = directory.appendingPathComponent("\(name).jsonl").path
    guard FileManager.default.createFile(atPath: path, contents: nil),
      let file = FileHandle(forWritingAtPath: path)
    else { throw BenchmarkError("cannot write \(path)") }
    defer { try? file.close() }
    var piece = Data()
    var bytes = 0
    for index in 0..<count {
      let text = try line(index)
      bytes += text.count - 1
      piece += text
      if piece.count > 1 << 20 {
        try file.write(contentsOf: piece)
        piece.removeAll(keepingCapacity: true)
      }
    }
    try file.write(contentsOf: piece)
    return Corpus(collection: name, path: path, documents: count, jsonBytes: bytes)
  }

  private static func readLines(_ path: String) throws -> [Data.SubSequence] {
    guard FileManager.default.isReadableFile(atPath: path) else {
      throw BenchmarkError("cannot read \(path)")
    }
    guard path.hasSuffix(".gz") else { return try Data(contentsOf: URL(filePath: path)).split(separator: 10) }
    let gzip = Process()
    gzip.executableURL = URL(filePath: "/usr/bin/env")
    gzip.arguments = ["gzip", "-dc", path]
    let output = Pipe()
    gzip.standardOutput = output
    try gzip.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    gzip.waitUntilExit()
    guard gzip.terminationStatus == 0 else { throw BenchmarkError("gzip cannot read \(path)") }
    return data.split(separator: 10)
  }
}
