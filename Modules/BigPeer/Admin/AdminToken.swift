#if Server
  import DocStore
  import Foundation
  import HTTPTypes

  /// The administrator's secret: a text in a file that only its owner can read.
  package struct AdminToken: Sendable {
    /// The file's name in the data directory.
    package static let file = "admin.token"
    private let hash: SecretHash

    /// Reads the file, and creates it if necessary.
    ///
    /// - Parameter directory: The data directory.
    /// - Throws: `BigPeerError` that names the file.
    init(in directory: String) throws {
      let file = SecretFile(Self.file, in: directory)
      do {
        if let text = try file.read(atMost: 1_024) {
          hash = Self.hash(
            of: String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
          return
        }
        let text = Secret().text
        try file.replace(by: Array("\(text)\n".utf8))
        hash = Self.hash(of: text)
      } catch {
        throw BigPeerError("\(directory)/\(Self.file): \(error)", underlying: error)
      }
    }

    /// Why the file cannot be used; `nil` if it can, or if it does not exist yet.
    static func fault(in directory: String) -> String? {
      do {
        _ = try SecretFile(file, in: directory).read(atMost: 1_024)
        return nil
      } catch {
        return error.message
      }
    }

    private static func hash(of text: String) -> SecretHash { SecretHash(of: Array(text.utf8)) }

    /// Verifies that a request has the token; takes equally long for a wrong one.
    ///
    /// - Throws: `authentication`.
    func check(_ headers: HTTPFields) throws(Problem) {
      let parts = headers[.authorization]?.split(separator: " ") ?? []
      let isBearer = parts.count == 2 && parts[0].lowercased() == "bearer"
      let isRight = Self.hash(of: isBearer ? String(parts[1]) : "").isSame(as: hash)
      guard isBearer, isRight else {
        throw Problem(
          .unauthorized, "authentication",
          "the token of the file \(Self.file) in the data's directory is needed: Authorization: Bearer …",
          headers: [.wwwAuthenticate: "Bearer realm=\"bigpeer admin\""])
      }
    }
  }
#endif
