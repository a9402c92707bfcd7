#if Server
  /// A text of figures as Prometheus reads it.
  struct MetricsPage {
    private(set) var text = ""
    private var name = ""

    /// Begins a figure.
    mutating func begin(_ name: String, _ kind: String, _ help: String) {
      self.name = name
      text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
    }

    /// Adds a value of the figure that was begun last.
    mutating func add(_ value: Double, _ labels: [(name: String, value: String)] = [], suffix: String = "") {
      text += name + suffix
      if !labels.isEmpty {
        text += "{" + labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",") + "}"
      }
      text += " \(Self.number(value))\n"
    }

    private static func number(_ value: Double) -> String {
      Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }

    private static func escaped(_ text: String) -> String {
      text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
  }
#endif
