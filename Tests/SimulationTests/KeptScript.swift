import Foundation
import SimKit
import Testing

/// A script in a file, known by the file's name.
struct KeptScript: Sendable, CustomTestStringConvertible {
  let name: String
  private let url: URL

  var script: Script { get throws { try Script(json: try Data(contentsOf: url)) } }
  var testDescription: String { name }

  /// The scripts of a folder of `Seeds`.
  static func all(in folder: String) -> [KeptScript] {
    guard let seeds = Bundle.module.resourceURL?.appendingPathComponent("Seeds/\(folder)"),
      let names = try? FileManager.default.contentsOfDirectory(atPath: seeds.path)
    else { return [] }
    return names.filter { $0.hasSuffix(".json") }.sorted().map {
      KeptScript(name: String($0.dropLast(".json".count)), url: seeds.appendingPathComponent($0))
    }
  }

  /// One of every so many scripts.
  ///
  /// A debug build takes long over a script. `Tools/simulate/run` plays all scripts in a release build.
  static func some(in folder: String, oneIn every: Int) -> [KeptScript] {
    all(in: folder).enumerated().filter { $0.offset % every == 0 }.map(\.element)
  }
}
