import CRDTCore
import PeerControl

/// Rows that show whether the measuring works.
enum Controls {
  /// Nobody attacks, so nothing may be missed.
  static let idle = Row("control-idle", "nothing") { _ in
    { scene in await scene.hostile { $0.pause(.seconds(2)) } }
  }

  /// The victim itself takes 200 MiB, which must be found.
  static let held = Row("control-held", "the victim holds 200 MiB by itself", mustMiss: true) { _ in
    { scene in
      try await scene.victim.ask("hold", ["bytes": .int(200 << 20)])
      await scene.hostile { $0.pause(.milliseconds(500)) }
    }
  }
}
