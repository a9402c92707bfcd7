import CRDTCore
import DocStore
import Facade
import Foundation

extension Store {
  /// Opens a store that must be there already, so that a mistyped path makes no new one.
  static func open(existing path: String) throws -> Store {
    guard FileManager.default.fileExists(atPath: path + "/data.mdb") else {
      throw ToolError("\(path): there is no store")
    }
    return try open(at: path, options: .tool)
  }
}

extension StoreOptions {
  /// Warnings go to standard error, so that standard output stays with what a command prints.
  static var tool: StoreOptions {
    StoreOptions(log: { level, line in
      if level >= .warning { FileHandle.standardError.write(Data("\(level): \(line)\n".utf8)) }
    })
  }
}

extension DocumentID {
  /// Reads an id as users write it: JSON, plain text for a string, or `hex:` and the digits that `verify` prints.
  init(argument text: String) throws { try self.init(written: text) }
}
