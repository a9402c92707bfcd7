/// Shares a campaign among processes, one a core.
enum Workers {
  /// Runs `body` in `count` processes at once, tells each its number, and adds up what they counted.
  static func run(_ count: Int, _ body: (Int) throws -> Tally) throws -> Tally {
    var children: [Child] = []
    for number in 0..<count {
      children.append(
        try Child.start { descriptor in
          let tally = try body(number)
          Child.write(tally.lines, to: descriptor)
        })
    }
    var total = Tally()
    var failure: Failure?
    for child in children {
      let text = child.readAll()
      let lines = text.split(separator: "\n")
      switch child.wait() {
      case .exit(0): total.add(Tally(lines: text))
      case .signal(let number): failure = failure ?? Failure(.crash, "a worker was ended by signal \(number)")
      case .exit(let code):
        let line = lines.last { $0.hasPrefix("!") }?.dropFirst()
        failure =
          failure ?? line.map { Failure(parsing: String($0)) }
          ?? Failure(.harness, "a worker ended with code \(code)")
      }
    }
    if let failure { throw failure }
    return total
  }
}
