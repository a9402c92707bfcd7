import CRDTCore
import DocStore
import DunlinControl
import Facade
import Foundation
import PeerControl

extension Store {
  /// Opens a store that must be there already, so that a mistyped path makes no new one.
  static func open(existing path: String) throws -> Store {
    guard FileManager.default.fileExists(atPath: path + "/data.mdb") else {
      throw ToolError("\(path): there is no store")
    }
    return try open(at: path, options: .tool)
  }

  /// Opens a store that must be there already, to read it; nothing has to be writable there.
  ///
  /// Where the file system is mounted read-only, statements that write fail with `readOnlyStore`.
  static func open(reading path: String) throws -> Store {
    do {
      return try open(existing: path)
    } catch let error as StoreError where error.code == .readOnlyStore {
      var options = StoreOptions.tool
      options.isReadOnly = true
      return try open(at: path, options: options)
    }
  }

  /// Runs a command on a store that no other process may have open.
  ///
  /// - Parameters:
  ///   - path: The store's directory.
  ///   - instead: What the user can do while a peer runs there.
  ///   - body: The command.
  /// - Returns: What `body` returns.
  /// - Throws: `ToolError` where a process has the store open, which says what to do; what `body` throws.
  static func alone<R>(
    _ path: String, whileRunning instead: @autoclosure () -> String, _ body: () throws -> R
  ) throws -> R {
    do {
      return try body()
    } catch let error as StoreError where error.code == .alreadyOpen {
      // A process that answers no commands cannot copy it either.
      let advice = try RunningPeer.of(store: path) == nil ? "end that process first" : instead()
      throw ToolError("\(path): the store is open in another process: \(advice)")
    }
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
  /// Reads an id as users write it: JSON, plain text for a string, or `hex:` and the digits from `verify`.
  init(argument text: String) throws { try self.init(written: text) }
}
