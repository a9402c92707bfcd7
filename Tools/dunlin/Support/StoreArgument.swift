import CRDTCore
import DocStore
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
  private static let hexPrefix = "hex:"

  /// Reads an id as users write it: JSON, plain text for a string, or `hex:` and the digits that `verify` prints.
  init(argument text: String) throws {
    guard text.hasPrefix(Self.hexPrefix) else {
      try self.init((try? JSON.parse(text)) ?? .string(text))
      return
    }
    let digits = Array(text.dropFirst(Self.hexPrefix.count).utf8)
    let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap { place in
      UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16)
    }
    guard !bytes.isEmpty, bytes.count * 2 == digits.count else {
      throw ToolError("\(text): after hex: come pairs of hexadecimal digits")
    }
    // Not validated, for it may be the id that is damaged.
    self.init(trusted: bytes)
  }
}
