#if Server
  import Crypto
  import DocStore
  import Foundation
  import HTTPTypes

  /// What whoever runs the server proves that with: a text in a file that only its owner can read.
  package struct AdminToken: Sendable {
    /// The file in the data's directory.
    package static let file = "admin.token"
    private static let bytes = 32

    private let hash: [UInt8]

    /// Reads the file, which is made if need be.
    ///
    /// - Parameter directory: The data's directory.
    /// - Throws: `BigPeerError` that names the file.
    init(in directory: String) throws {
      let file = SecretFile(Self.file, in: directory)
      do {
        if let text = try file.read(atMost: 1_024) {
          hash = Self.hash(
            of: String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
          return
        }
        var generator = SystemRandomNumberGenerator()
        let secret = (0..<Self.bytes / 8).flatMap { _ in
          withUnsafeBytes(of: generator.next() as UInt64) { Array($0) }
        }
        let text = Data(secret).base64EncodedString()
        try file.replace(by: Array("\(text)\n".utf8))
        hash = Self.hash(of: text)
      } catch {
        throw BigPeerError("\(directory)/\(Self.file): \(error)", underlying: error)
      }
    }

    private static func hash(of text: String) -> [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    /// Sees to it that a request has the token; takes as long for any other.
    ///
    /// - Throws: `authentication`.
    func check(_ headers: HTTPFields) throws(Problem) {
      let parts = headers[.authorization]?.split(separator: " ") ?? []
      let isBearer = parts.count == 2 && parts[0].lowercased() == "bearer"
      let given = Self.hash(of: isBearer ? String(parts[1]) : "")
      var difference: UInt8 = isBearer ? 0 : 1
      for (a, b) in zip(given, hash) { difference |= a ^ b }
      guard difference == 0 else {
        throw Problem(
          .unauthorized, "authentication",
          "the token of the file \(Self.file) in the data's directory is needed: Authorization: Bearer …",
          headers: [.wwwAuthenticate: "Bearer realm=\"bigpeer admin\""])
      }
    }
  }
#endif
