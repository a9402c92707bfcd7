/// Named counts, in the order they came up.
struct Tally {
  private(set) var names: [String] = []
  private var counts: [String: Int] = [:]

  subscript(name: String) -> Int {
    get { counts[name] ?? 0 }
    set {
      if counts[name] == nil { names.append(name) }
      counts[name] = newValue
    }
  }

  mutating func add(_ other: Tally) {
    for name in other.names { self[name] += other[name] }
  }

  /// One line a count.
  var lines: String { names.map { "\($0)=\(self[$0])\n" }.joined() }

  init() {}

  init(lines: some StringProtocol) {
    for line in lines.split(separator: "\n") {
      let parts = line.split(separator: "=")
      guard parts.count == 2, let count = Int(parts[1]) else { continue }
      self[String(parts[0])] = count
    }
  }
}
