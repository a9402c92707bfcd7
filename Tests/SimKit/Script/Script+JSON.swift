package import Foundation

extension Script {
  /// The script as JSON, to be kept and played again.
  package func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try encoder.encode(self)
  }

  /// Reads a script that was kept.
  package init(json: Data) throws { self = try JSONDecoder().decode(Script.self, from: json) }
}
