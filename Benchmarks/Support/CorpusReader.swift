import Foundation

/// One document of the corpus: its id, and its JSON text with the id in it.
package struct CorpusDocument {
  package let id: String
  package let text: [UInt8]
}

/// Reads a corpus file piece by piece, so that the corpus is not in memory while a store is measured.
package struct CorpusReader {
  private let file: FileHandle
  private var buffer: [UInt8] = []
  private var head = 0

  package init(path: String) throws {
    guard let file = FileHandle(forReadingAtPath: path) else { throw BenchmarkError("cannot read \(path)") }
    self.file = file
  }

  /// The next documents, at most `count`; none at the end.
  package mutating func next(_ count: Int) throws -> [CorpusDocument] {
    var documents: [CorpusDocument] = []
    while documents.count < count {
      guard let end = buffer[head...].firstIndex(of: 10) else {
        buffer.removeFirst(head)
        head = 0
        guard let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty else { break }
        buffer += piece
        continue
      }
      let line = Array(buffer[head..<end])
      head = end + 1
      documents.append(CorpusDocument(id: try Self.id(of: line), text: line))
    }
    return documents
  }

  /// The id of every document, in the file's order.
  package static func ids(path: String) throws -> [String] {
    var reader = try CorpusReader(path: path)
    var ids: [String] = []
    while true {
      let documents = try reader.next(1_000)
      guard !documents.isEmpty else { return ids }
      ids += documents.map(\.id)
    }
  }

  private static func id(of line: [UInt8]) throws -> String {
    let prefix = Array(#"{"_id":""#.utf8)
    guard line.starts(with: prefix), let end = line[prefix.count...].firstIndex(of: 34) else {
      throw BenchmarkError("a line does not begin with \"_id\"")
    }
    return String(decoding: line[prefix.count..<end], as: UTF8.self)
  }
}
