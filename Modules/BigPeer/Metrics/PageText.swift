#if Server
  /// Figures in the text format of Prometheus.
  ///
  /// Source: "Text-based format" of the Prometheus documentation, version 0.0.4.
  struct PageText {
    private(set) var text = ""
    private var name = ""

    /// Begins a figure.
    mutating func begin(_ name: String, _ kind: String, _ help: String?) {
      self.name = name
      if let help { text += "# HELP \(name) \(help)\n" }
      text += "# TYPE \(name) \(kind)\n"
    }

    /// Adds a value of the current figure.
    mutating func add(_ value: Double, _ labels: [(String, String)] = [], suffix: String = "") {
      text += name + suffix
      if !labels.isEmpty {
        text +=
          "{" + labels.map { "\(Self.plain($0.0))=\"\(Self.escaped($0.1))\"" }.joined(separator: ",") + "}"
      }
      text += " \(Self.number(value))\n"
    }

    private static func number(_ value: Double) -> String {
      if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
      return value.isNaN ? "NaN" : Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }

    private static func escaped(_ text: String) -> String {
      text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    /// Makes a name valid for the format: names of other libraries may contain dots.
    static func plain(_ name: String) -> String {
      String(
        decoding: zip(0..., name.utf8).map { index, byte in
          switch byte {
          case 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: ":"): byte
          case 0x30...0x39 where index > 0: byte
          default: UInt8(ascii: "_")
          }
        }, as: UTF8.self)
    }
  }
#endif
