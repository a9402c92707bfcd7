#if Server
  import Hummingbird

  /// The parameters of an address as a form writes them: `+` is a space, and `%2B` a plus.
  ///
  /// All routes read the parameters of an address with it.
  ///
  /// Source: WHATWG, "URL Standard", section 5.1, application/x-www-form-urlencoded parsing.
  struct QueryParameters {
    /// In the order of the address; a name may occur several times.
    let all: [(name: String, value: String)]

    /// Reads the part of an address after `?`.
    ///
    /// - Throws: `request` if a name or a value is no text in UTF-8, or has a `%` without two digits.
    init(_ request: Request) throws(Problem) {
      var all: [(name: String, value: String)] = []
      for field in (request.uri.query ?? "").utf8.split(separator: UInt8(ascii: "&")) {
        let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = Self.text(parts[0]) else {
          throw Problem.request("the name of a parameter in the address is not encoded as in a form")
        }
        guard let value = parts.count == 1 ? "" : Self.text(parts[1]) else {
          throw Problem.request("the value of the parameter \(name) is not encoded as in a form")
        }
        all.append((name, value))
      }
      self.all = all
    }

    /// The first value of a name.
    subscript(name: String) -> String? { all.first { $0.name == name }?.value }

    /// All values of a name, in the order of the address.
    subscript(values name: String) -> [String] { all.filter { $0.name == name }.map(\.value) }

    /// Refuses parameters that a route does not have.
    ///
    /// - Throws: `request`, with the name of the first.
    func check(only names: Set<String>) throws(Problem) {
      for (name, _) in all where !names.contains(name) {
        throw Problem.request("there is no parameter \(name) here")
      }
    }

    private static func text(_ encoded: Substring.UTF8View) -> String? {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(encoded.count)
      var rest = encoded[...]
      while let byte = rest.popFirst() {
        switch byte {
        case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
        case UInt8(ascii: "%"):
          guard let high = digit(rest.popFirst()), let low = digit(rest.popFirst()) else { return nil }
          bytes.append(high << 4 | low)
        default: bytes.append(byte)
        }
      }
      return String(validating: bytes, as: UTF8.self)
    }

    /// The value of a hexadecimal digit.
    private static func digit(_ byte: UInt8?) -> UInt8? {
      guard let byte, let value = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
      return UInt8(value)
    }
  }
#endif
