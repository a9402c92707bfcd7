/// One kind of attack: what is sent, to what victim, and what it may cost.
struct Row: Sendable {
  /// Attacks until it is done or the scene is over; all connections are closed when it returns.
  typealias Attack = @Sendable (Scene) async throws -> Void

  let name: String
  /// What is sent, in a few words.
  let summary: String
  let aims: Aims
  let setup: Scene.Setup
  /// Whether the row is a control that has to miss its aims.
  var mustMiss = false
  /// Makes all that can be made before time is taken.
  let prepare: @Sendable (Scene) async throws -> Attack
  /// Looks at the victim after all else, and may end it.
  let check: Attack

  init(
    _ name: String, _ summary: String, aims: Aims = .usual, setup: Scene.Setup = Scene.Setup(),
    mustMiss: Bool = false, check: @escaping Attack = { _ in },
    prepare: @escaping @Sendable (Scene) async throws -> Attack
  ) {
    self.name = name
    self.summary = summary
    self.aims = aims
    self.setup = setup
    self.mustMiss = mustMiss
    self.check = check
    self.prepare = prepare
  }

  /// A row of bytes alone: `prepare` makes them, and gives the attack on a target.
  static func raw(
    _ name: String, _ summary: String, aims: Aims = .usual, setup: Scene.Setup = Scene.Setup(),
    check: @escaping Attack = { _ in },
    prepare: @escaping @Sendable () throws -> @Sendable (Target) -> Void
  ) -> Row {
    Row(name, summary, aims: aims, setup: setup, check: check) { _ in
      let attack = try prepare()
      return { await $0.hostile(attack) }
    }
  }
}
