#if Server
  import CRDTCore
  import Facade
  import Hummingbird

  /// The JSON object that a request carries; a member that nobody reads is a mistake.
  struct FeedBody {
    private var members: [TextKey: Value]

    /// Bytes of a body.
    private static let byteLimit = 256 << 10

    /// - Throws: `Problem` for no object, or a longer one.
    init(_ request: inout Request) async throws {
      let buffer: ByteBuffer
      do {
        buffer = try await request.collectBody(upTo: Self.byteLimit)
      } catch let error as HTTPError where error.status == .contentTooLarge {
        throw Problem(
          .contentTooLarge, "limit", "the body of the request has more than \(Self.byteLimit) bytes")
      }
      do {
        guard case .map(let members) = try JSON.parse(Array(buffer.readableBytesView)) else {
          throw Problem(.badRequest, "argument", "the body of the request must be a JSON object")
        }
        self.members = members
      } catch let error as JSONError {
        throw Problem(
          .badRequest, "syntax", "the body of the request is no JSON: \(error.message)",
          members: ["offset": .count(error.offset)])
      }
    }

    private func wrong(_ name: TextKey, _ what: String) -> Problem {
      Problem(.badRequest, "argument", "\"\(name.text)\" \(what)")
    }

    mutating func text(_ name: TextKey) throws -> String? {
      switch members.removeValue(forKey: name) {
      case nil, .null?: nil
      case .string(let text)?: text
      default: throw wrong(name, "must be a text")
      }
    }

    mutating func flag(_ name: TextKey) throws -> Bool? {
      switch members.removeValue(forKey: name) {
      case nil, .null?: nil
      case .bool(let flag)?: flag
      default: throw wrong(name, "must be true or false")
      }
    }

    mutating func integer(_ name: TextKey) throws -> Int64? {
      switch members.removeValue(forKey: name) {
      case nil, .null?: nil
      case .int(let number)?: number
      default: throw wrong(name, "must be a whole number")
      }
    }

    mutating func object(_ name: TextKey) throws -> [TextKey: Value]? {
      switch members.removeValue(forKey: name) {
      case nil, .null?: nil
      case .map(let members)?: members
      default: throw wrong(name, "must be an object")
      }
    }

    /// The statements: one as `statement`, or several as `statements`.
    mutating func statements() throws -> [String] {
      let one = try text("statement")
      switch members.removeValue(forKey: "statements") {
      case nil, .null?:
        guard let one else { throw wrong("statement", "is missing: SELECT * FROM collection WHERE …") }
        return [one]
      case .array(let elements)? where one == nil:
        return try elements.map { element in
          guard case .string(let text) = element else {
            throw wrong("statements", "must be a list of texts")
          }
          return text
        }
      case .array?: throw wrong("statements", "cannot stand beside \"statement\"")
      default: throw wrong("statements", "must be a list of texts")
      }
    }

    /// - Throws: `Problem` that names a member that nobody has read.
    func finish() throws {
      if let name = members.keys.min() { throw wrong(name, "is unknown here") }
    }
  }
#endif
