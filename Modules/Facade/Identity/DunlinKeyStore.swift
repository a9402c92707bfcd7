import DocStore

/// Stores a device's private key, in place of the file in the database's directory.
public protocol DunlinKeyStore: Sendable {
  /// The 32 bytes that were saved last; `nil` when there are none.
  func loadKey() throws -> [UInt8]?

  /// Replaces the saved key; the new one must be durable when this returns.
  func saveKey(_ key: [UInt8]) throws
}

/// The private key in the file `device.key` of the database's directory, which only its owner can read.
///
/// Backups and compacted copies of a database do not contain it.
struct KeyFile: DunlinKeyStore {
  static let name = "device.key"

  private let file: SecretFile

  init(directory: HeldDirectory) { file = SecretFile(Self.name, in: directory) }

  init(directory: String) { file = SecretFile(Self.name, in: directory) }

  func loadKey() throws -> [UInt8]? { try file.read(atMost: 32) }

  func saveKey(_ key: [UInt8]) throws { try file.replace(by: key) }
}
