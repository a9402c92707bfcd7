#if TLS
  import Foundation

  /// The key that all peers of an application share: 256 random bits, and never a password.
  public struct DunlinSharedKey: Hashable, Sendable, CustomStringConvertible {
    let bytes: [UInt8]

    /// Makes a key of 32 random bytes.
    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Makes a new key.
    public init() {
      var generator = SystemRandomNumberGenerator()
      bytes = (0..<4).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
    }

    /// Reads a key in its text form, as `dunlin key` prints it.
    ///
    /// - Parameter text: The 32 bytes in Base64.
    /// - Throws: `argument` when it is not such a text.
    public init(_ text: String) throws(DunlinError) {
      guard let data = Data(base64Encoded: text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
        throw DunlinError(
          .argument,
          "a shared key is 32 random bytes in Base64, as dunlin key makes it, and this text is not Base64")
      }
      guard data.count == 32 else {
        throw DunlinError(.argument, "a shared key has 32 random bytes, this one \(data.count)")
      }
      bytes = Array(data)
    }

    /// The text form, which is secret.
    public var text: String { Data(bytes).base64EncodedString() }

    /// Contains nothing of the key, so that the key does not get into logs.
    public var description: String { "a shared key" }
  }
#endif
