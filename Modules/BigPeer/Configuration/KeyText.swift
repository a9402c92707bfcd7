#if Server
  import DocStore
  import Foundation

  /// The text of a file with a key or with certificates.
  enum KeyText {
    /// The maximum size of the file, in bytes.
    private static let limit = 64 << 10

    /// Checks that no other user can read a file with a private key.
    ///
    /// - Throws: `BigPeerError` that names the file, and says what to do.
    static func checkSecret(_ path: String) throws(BigPeerError) {
      do {
        try SecretFile.check(path) { line in
          FileHandle.standardError.write(Data("\(line)\n".utf8))
        }
      } catch  where error.code == .permission && FileManager.default.isReadableFile(atPath: path) {
        throw BigPeerError(error.message, underlying: error)
      } catch {
        // Any other problem with the file is reported when it is read.
      }
    }

    /// Reads the file.
    ///
    /// - Throws: `BigPeerError` that names the file.
    static func read(_ path: String) throws -> String {
      let bytes: Data
      do {
        bytes = try FileHandle(forReadingFrom: URL(filePath: path)).read(upToCount: limit + 1) ?? Data()
      } catch {
        throw BigPeerError("the file \(path) cannot be read: \(error.localizedDescription)")
      }
      guard bytes.count <= limit, let text = String(bytes: bytes, encoding: .utf8) else {
        throw BigPeerError("the file \(path) is no key and no certificate")
      }
      return text
    }
  }
#endif
