import BenchmarkSupport
import Foundation

/// Counts that later ones are compared with, and what they were counted of.
struct Recording: Codable {
  /// Processor, compiler and system: counts of others cannot be compared.
  let build: String
  /// Instructions by the name of the work.
  var counts: [String: Double] = [:]

  static var currentBuild: String {
    #if arch(x86_64)
      let processor = "x86_64"
    #elseif arch(arm64)
      let processor = "arm64"
    #else
      let processor = "another processor"
    #endif
    #if compiler(>=6.4)
      let compiler = "Swift 6.4 or newer"
    #elseif compiler(>=6.3)
      let compiler = "Swift 6.3"
    #else
      let compiler = "Swift 6.2"
    #endif
    return "\(processor), \(compiler)"
  }

  static func read(_ path: String) throws -> Recording {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw BenchmarkError("\(path) is not there: record counts first, with --record")
    }
    do { return try JSONDecoder().decode(Recording.self, from: data) } catch {
      throw BenchmarkError("\(path) holds no recorded counts: \(error)")
    }
  }

  func write(_ path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try (encoder.encode(self) + [10]).write(to: URL(filePath: path), options: .atomic)
  }
}
