"""`Dataset`: its pipeline, its cursors on the device, and loops over it."""
